"""Words of texts and queries."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from artificer.ports import IndexedText
from artificer.storage.sqlite import search_index as sqlite
from artificer.values.words import MAX_TERMS, Term, find_spans, matches, terms_of, words_of

pytestmark = pytest.mark.req("search-words")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Where is the Lamp?", ["where", "is", "the", "lamp"]),
        ("search_orders(id=7)", ["search", "orders", "id", "7"]),
        ("Ärger, e\u0301tude ﬁn STRASSE straße", ["arger", "etude", "fin", "strasse", "strasse"]),
        ("東京 lamp京", ["東", "京", "lamp", "京"]),
        ("⑴ ½ \0 ' \" *", ["1", "12"]),
        ("x" * 100, ["x" * 64]),
        ("_ - —", []),
    ],
)
def test_a_text_is_its_folded_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ('red "big lamp" pay*', [Term(("red",)), Term(("big", "lamp")), Term(("pay",), True)]),
        ('"big la"* "open', [Term(("big", "la"), True), Term(("open",))]),
        ('* "" - \' "\' ()', []),
        ("red RED", [Term(("red",))]),
        ("a-" * 99, [Term(("a",) * MAX_TERMS)]),
        (" ".join(map(str, range(99))), [Term((str(n),)) for n in range(MAX_TERMS)]),
    ],
)
def test_a_query_is_terms(query: str, terms: list[Term]) -> None:
    assert list(terms_of(query)) == terms


def test_spans_are_those_of_the_text() -> None:
    text = "Étude: a RED  lamp, red lamps"
    spans = find_spans(terms_of('etude "red lamp"*'), text)
    assert [text[begin:end] for begin, end in spans] == ["Étude", "RED  lamp", "red lamps"]
    assert find_spans(terms_of("red green"), text) == []


@given(st.text(max_size=40), st.text(max_size=20))
@example("a\0b", '"a" OR b*')
@example("ǰ", "ǰ*")
@example("a'b", "NEAR(a b) AND {x}: ^y")
def test_sqlite_finds_what_we_find(text: str, query: str) -> None:
    """Any query on any text: the full-text table and our own comparison agree."""
    terms, words = terms_of(query), words_of(text)
    ours = matches(terms, words)
    assert bool(find_spans(terms, text)) == (ours and bool(terms))
    if not terms:
        return
    with sqlite3.connect(":memory:") as db:
        for table in sqlite._TABLES.values():
            db.execute(table)
        sqlite._write(db, [IndexedText(1, "a", 1, 1, words)])
        match = sqlite.match_of(terms)
        found = db.execute(sqlite._FIND, (match, 9, 0, None, None, 1)).fetchall()
    assert bool(found) == ours
