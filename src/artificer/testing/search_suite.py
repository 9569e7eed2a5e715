"""Conformance tests for search indexes, to run with your own.

Subclass `SearchIndexSuite` in a test module and give it a pytest fixture ``search_index`` that
yields a fresh one.
"""

from __future__ import annotations

import pytest

from artificer.ports import Found, IndexedText, Reached, SearchIndex, TextQuery
from artificer.values.words import terms_of, words_of

END = 2**62

TEXTS = (
    IndexedText(1, "a", 1, 100, words_of("Where is the red Lamp?"), "chat"),
    IndexedText(3, "a", 3, 110, words_of("search_orders: lamps, Ärger, 東京都")),
    IndexedText(4, "b", 1, 200, words_of("the lamp is red"), "deliver"),
)


def _find(index: SearchIndex, words: str, kind: str | None = None, since: int = 0) -> list[int]:
    found = index.find(TextQuery(terms_of(words), kind, since), END, 10)
    return [one.position for one in found]


class SearchIndexSuite:
    """The behavior of the `SearchIndex` port. Give it a fixture ``search_index``."""

    def test_an_empty_one_finds_nothing(self, search_index: SearchIndex) -> None:
        """It starts at the beginning; clearing it changes nothing."""
        search_index.clear()
        assert search_index.reached() == Reached()
        assert _find(search_index, "lamp") == []

    def test_texts_are_added_where_it_has_come(self, search_index: SearchIndex) -> None:
        """If two processes add the same texts, only one succeeds."""
        assert search_index.add(0, TEXTS[:1], Reached(2, "two"))
        assert not search_index.add(0, TEXTS, Reached(4, "four"))
        assert search_index.reached() == Reached(2, "two")
        assert search_index.add(2, TEXTS[1:], Reached(4, "four"))
        assert _find(search_index, "lamp") == [4, 1]

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("LAMP", [4, 1]),
            ("lamp*", [4, 3, 1]),
            ("lam", []),
            ("red lamp", [4, 1]),
            ('"red lamp"', [1]),
            ('"red la"*', [1]),
            ('"lamp is', [4]),
            ("search_orders", [3]),
            ("orders", [3]),
            ("orders_search", []),
            ("arger", [3]),
            ("ÄRGER", [3]),
            ("京都", [3]),
            ("都東", []),
            ("lamp the nothing", []),
            ("lamp OR NEAR(red)", []),
            ("words:lamp", []),
            ("-lamp ^the {red}", [4, 1]),
        ],
    )
    def test_words_phrases_and_beginnings(
        self, search_index: SearchIndex, words: str, found: list[int]
    ) -> None:
        """Case and accents are ignored. No word acts as an operator of a query language."""
        search_index.add(0, TEXTS, Reached(4, "four"))
        assert _find(search_index, words) == found

    def test_by_kind_and_time(self, search_index: SearchIndex) -> None:
        """A record without a kind has the kind of its run."""
        search_index.add(0, TEXTS, Reached(4, "four"))
        assert _find(search_index, "lamp*", "chat") == [3, 1]
        assert _find(search_index, "lamp*", "code") == []
        assert _find(search_index, "lamp*", since=110) == [4, 3]

    def test_pages_newest_first(self, search_index: SearchIndex) -> None:
        """The next page continues before the last record of this one."""
        search_index.add(0, TEXTS, Reached(4, "four"))
        query = TextQuery(terms_of("lamp*"))
        assert search_index.find(query, END, 2) == [Found(4, "b", 1), Found(3, "a", 3)]
        assert search_index.find(query, 3, 2) == [Found(1, "a", 1)]

    def test_clearing_forgets_everything(self, search_index: SearchIndex) -> None:
        """A cleared index is empty and can be filled again."""
        search_index.add(0, TEXTS, Reached(4, "four"))
        search_index.clear()
        assert (search_index.reached(), _find(search_index, "lamp")) == (Reached(), [])
        assert search_index.add(0, TEXTS, Reached(4, "other"))
        assert _find(search_index, "lamp") == [4, 1]
