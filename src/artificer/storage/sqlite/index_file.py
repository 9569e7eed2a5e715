"""The file of an index: a cache that follows the journal, and may be deleted at any time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, TypeVar

from artificer.errors import OperatorError
from artificer.ports import Reached
from artificer.storage.sqlite.cache import BUSY_SECONDS, UNUSABLE, CacheFile, unusable_cache
from artificer.storage.sqlite.database import is_busy
from artificer.system.read_only import ReadOnlyDatabase

T = TypeVar("T")

_ABOUT = (
    "CREATE TABLE about (one INTEGER PRIMARY KEY CHECK (one = 1), version TEXT NOT NULL, "
    "position INTEGER NOT NULL, world TEXT NOT NULL) STRICT"
)


class IndexFile:
    """Tables in the file ``path``, for any number of threads and processes.

    ``tables`` are made by their statements, by name; an index of another ``version`` is made again.
    """

    def __init__(
        self,
        path: Path,
        version: str,
        tables: Mapping[str, str],
        *,
        read_only: bool,
    ) -> None:
        self._path = path
        self._version = version
        self._tables = {"about": _ABOUT, **tables}
        self._reading = ReadOnlyDatabase(path, busy_seconds=BUSY_SECONDS) if read_only else None
        self._cache = CacheFile(path, lambda db: db.execute("PRAGMA secure_delete = ON"))

    def close(self) -> None:
        """Close the file. May be called more than once."""
        if self._reading is not None:
            self._reading.close()
        self._cache.close()

    def reached(self) -> Reached:
        """Return how far the index has come."""
        return self.ask(lambda db: _reached(db), Reached())

    def ask(self, query: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return a query's result, or ``otherwise`` where there is no index of this version."""
        if self._cache.is_absent:
            return otherwise

        def query_of_ours(db: sqlite3.Connection) -> T:
            return query(db) if self._is_ours(db) else otherwise

        if self._reading is None:
            with self._cache.opened() as db:
                return query_of_ours(db)
        try:
            return self._reading.ask(query_of_ours)
        except UNUSABLE as error:
            raise unusable_cache(self._path, error) from error

    def add(self, after: int, upto: Reached, write: Callable[[sqlite3.Connection], None]) -> bool:
        """Let ``write`` add all between two positions, in one transaction.

        False unless the index is at ``after``, or where it is only read.
        """
        if self._reading is not None:
            return False
        with self._writing() as db:
            if _reached(db).position != after:
                return False
            write(db)
            db.execute("UPDATE about SET position = ?, world = ?", (upto.position, upto.world))
        return True

    def change(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Let ``write`` change the contents; deleted data is overwritten."""
        if self._reading is not None or self._cache.is_absent:
            return
        with self._writing() as db:
            write(db)
        with self._cache.opened() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def clear(self) -> None:
        """Forget everything. What was deleted is overwritten."""
        try:
            self.change(self._make)
        except OperatorError as error:
            if error.__cause__ is None or is_busy(error.__cause__):
                raise
            self._cache.remove()  # it is damaged

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._cache.opened() as db:
            db.execute("BEGIN IMMEDIATE")
            if not self._is_ours(db):
                self._make(db)
            yield db
            db.execute("COMMIT")

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        """Whether the index is one of these rules."""
        known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        if not known.issuperset(self._tables):
            return False
        row = db.execute("SELECT version FROM about").fetchone()
        return row is not None and row[0] == self._version

    def _make(self, db: sqlite3.Connection) -> None:
        for name in self._tables:
            db.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in self._tables.values():
            for part in statement.split(";"):
                db.execute(part)
        db.execute("INSERT INTO about VALUES (1, ?, 0, '')", (self._version,))


class SqliteIndex:
    """An index in a file, which is made when something is first added.

    It is not synced: a loss of power may take it. With ``read_only`` it is used as far as it has
    come, and nothing is made or changed.
    """

    _version: ClassVar[str]
    _tables: ClassVar[Mapping[str, str]]

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._file = IndexFile(path, self._version, self._tables, read_only=read_only)

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._file.close()

    def reached(self) -> Reached:
        """Return how far the index has come."""
        return self._file.reached()

    def clear(self) -> None:
        """Forget everything. What was deleted is overwritten."""
        self._file.clear()


def _reached(db: sqlite3.Connection) -> Reached:
    return Reached(*db.execute("SELECT position, world FROM about").fetchone())
