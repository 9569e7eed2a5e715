"""Both indexes of runs behave as the port says; a file survives what happens to files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from artificer.errors import OperatorError
from artificer.ports import Reached, RunIndex, RunQuery
from artificer.storage.memory.run_index import MemoryRunIndex
from artificer.storage.sqlite.run_index import SqliteRunIndex
from artificer.testing.run_index_suite import END, RUNS, RunIndexSuite
from artificer.values.words import terms_of, words_of

pytestmark = pytest.mark.req("run-index")


class TestMemoryRunIndex(RunIndexSuite):
    @pytest.fixture
    def run_index(self) -> MemoryRunIndex:
        return MemoryRunIndex()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """In a folder that is not there yet: of a world in PostgreSQL, nothing else may be."""
    return tmp_path / "project" / "runs.db"


@pytest.fixture
def index(path: Path) -> Iterator[SqliteRunIndex]:
    index = SqliteRunIndex(path)
    yield index
    index.close()


def names(index: RunIndex) -> list[str]:
    return [run.run for run in index.find(RunQuery(terms_of("lamp")), None, 10)]


class TestSqliteRunIndex(RunIndexSuite):
    @pytest.fixture
    def run_index(self, index: SqliteRunIndex) -> SqliteRunIndex:
        return index

    def test_two_processes_share_the_file(self, index: SqliteRunIndex, path: Path) -> None:
        other = SqliteRunIndex(path)
        assert index.add(0, RUNS, END)
        assert not other.add(0, RUNS, END)
        assert names(other) == ["b", "a"]
        other.clear()
        assert index.reached() == Reached()
        other.close()

    def test_read_only_it_is_used_and_left_as_it_is(
        self, index: SqliteRunIndex, path: Path
    ) -> None:
        reader = SqliteRunIndex(path, read_only=True)
        assert (reader.reached(), names(reader)) == (Reached(), [])
        assert not path.exists()
        index.add(0, RUNS, END)
        index.close()
        before = path.read_bytes()
        assert names(reader) == ["b", "a"]
        assert not reader.add(9, RUNS, Reached(10, "ten"))
        reader.forget("a")
        reader.clear()
        reader.close()
        assert path.read_bytes() == before

    def test_another_layout_is_made_again(self, index: SqliteRunIndex, path: Path) -> None:
        index.add(0, RUNS, END)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE about SET version = '0.9'")
        assert (index.reached(), names(index)) == (Reached(), [])
        assert index.add(0, RUNS[:1], Reached(2, "two"))
        assert names(index) == ["a"]

    def test_what_was_forgotten_is_not_in_the_file(self, index: SqliteRunIndex, path: Path) -> None:
        prompt = "xylophone " * 500
        index.add(0, [replace(RUNS[0], prompt=prompt, words=words_of(prompt)), *RUNS[1:]], END)
        index.forget("a")
        index.close()
        assert b"xylophone" not in b"".join(file.read_bytes() for file in path.parent.iterdir())

    @pytest.mark.parametrize("damage", [b"no database", b"SQLite format 3\0" + b"\x01" * 5000])
    def test_a_damaged_file_is_removed_and_made_again(
        self, index: SqliteRunIndex, path: Path, damage: bytes
    ) -> None:
        path.parent.mkdir()
        path.write_bytes(damage)
        with pytest.raises(OperatorError, match=r"runs\.db cannot be used"):
            index.reached()
        assert not path.exists()
        assert index.add(0, RUNS, END)
        assert names(index) == ["b", "a"]
