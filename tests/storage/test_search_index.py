"""Both indexes of texts behave as the port says; a file survives what happens to files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from artificer.errors import OperatorError
from artificer.ports import IndexedText, Reached, SearchIndex, TextQuery
from artificer.storage.memory.search_index import MemorySearchIndex
from artificer.storage.sqlite.search_index import SqliteSearchIndex
from artificer.testing.search_suite import END, TEXTS, SearchIndexSuite
from artificer.values.words import terms_of, words_of


@pytest.mark.req("search-index")
class TestMemorySearchIndex(SearchIndexSuite):
    @pytest.fixture
    def search_index(self) -> MemorySearchIndex:
        return MemorySearchIndex()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "search.db"


@pytest.fixture
def index(path: Path) -> Iterator[SqliteSearchIndex]:
    index = SqliteSearchIndex(path)
    yield index
    index.close()


def positions(index: SearchIndex, words: str) -> list[int]:
    return [found.position for found in index.find(TextQuery(terms_of(words)), END, 10)]


@pytest.mark.req("search-index")
class TestSqliteSearchIndex(SearchIndexSuite):
    @pytest.fixture
    def search_index(self, index: SqliteSearchIndex) -> SqliteSearchIndex:
        return index

    def test_two_processes_share_the_file(self, index: SqliteSearchIndex, path: Path) -> None:
        other = SqliteSearchIndex(path)
        assert index.add(0, TEXTS, Reached(4, "four"))
        assert not other.add(0, TEXTS, Reached(4, "four"))
        assert positions(other, "lamp") == [4, 1]
        other.clear()
        assert index.reached() == Reached()
        other.close()

    def test_read_only_it_is_used_and_left_as_it_is(
        self, index: SqliteSearchIndex, path: Path
    ) -> None:
        reader = SqliteSearchIndex(path, read_only=True)
        assert (reader.reached(), positions(reader, "lamp")) == (Reached(), [])
        assert not path.exists()
        index.add(0, TEXTS, Reached(4, "four"))
        index.close()
        before = path.read_bytes()
        assert positions(reader, "lamp") == [4, 1]
        assert not reader.add(4, TEXTS, Reached(9, "nine"))
        reader.clear()
        reader.close()
        assert path.read_bytes() == before

    def test_other_rules_for_words_make_it_again(
        self, index: SqliteSearchIndex, path: Path
    ) -> None:
        index.add(0, TEXTS, Reached(4, "four"))
        with sqlite3.connect(path) as db:
            db.execute("UPDATE about SET version = '0.9'")
        assert (index.reached(), positions(index, "lamp")) == (Reached(), [])
        assert index.add(0, TEXTS[:1], Reached(2, "two"))
        assert positions(index, "lamp") == [1]

    def test_what_was_cleared_is_not_in_the_file(
        self, index: SqliteSearchIndex, path: Path
    ) -> None:
        words = words_of("xylophone " * 500)
        index.add(0, [IndexedText(1, "a", 1, 1, words)], Reached(1, "one"))
        index.clear()
        index.close()
        assert b"xylophone" not in b"".join(file.read_bytes() for file in path.parent.iterdir())

    @pytest.mark.parametrize("damage", [b"no database", b"SQLite format 3\0" + b"\x01" * 5000])
    def test_a_damaged_file_is_an_error_until_it_is_cleared(
        self, index: SqliteSearchIndex, path: Path, damage: bytes
    ) -> None:
        path.write_bytes(damage)
        with pytest.raises(OperatorError, match=r"search\.db cannot be used"):
            index.reached()
        index.clear()
        assert index.add(0, TEXTS, Reached(4, "four"))
        assert positions(index, "lamp") == [4, 1]
