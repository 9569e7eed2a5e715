"""The versions of workspaces, in a journal's file.

A version is committed together with the note that says so. What is read is held against the notes:
the table is a cache of them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from artificer.errors import ArtificerError
from artificer.ports import Durability
from artificer.storage.agreement import agreed_names, agreed_version
from artificer.storage.notes import range_of, read_note, versions_of
from artificer.storage.sqlite.anchor import Anchor
from artificer.storage.sqlite.database import FAULTS, connect, designed, only_read
from artificer.storage.sqlite.reader import last_note, snapshot
from artificer.storage.sqlite.transaction import commit
from artificer.system.read_only import ReadOnlyDatabase

T = TypeVar("T")


class SqliteVersions:
    """`Versions` in a journal's file, for any number of threads and processes.

    They have their own connection, for they are used from threads. Every method raises
    OperatorError when the file cannot be used, and TamperedError when it is damaged or says
    something else than the notes.
    """

    def __init__(
        self, path: Path, durability: Durability = "power", busy_seconds: float = 10.0
    ) -> None:
        self._path = path
        self._durability = durability
        self._busy_seconds = busy_seconds
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self.anchor: Anchor | None = None
        """Set when the journal is open for writing."""
        self.read_only: ReadOnlyDatabase | None = None
        """Set when it is only read."""

    def close(self) -> None:
        """Close the file. What is asked for later opens it again. May be called more than once."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest."""
        return self._ask(lambda db: _head(db, name, run))

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest."""
        return self._ask(lambda db: _get(db, name, number, run))

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        if self.read_only is not None:
            raise only_read(self._path)
        (added,) = self._ask(
            lambda db: commit(
                db,
                self._path,
                [lambda work: work.add_version(name, number, digest, run)],
                self.anchor,
            )
        )
        if isinstance(added, ArtificerError):
            raise added
        return bool(added)

    def names(self, run: str = "") -> list[str]:
        """Every name, in order."""
        return self._ask(lambda db: _names(db, run))

    def _ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                if self.read_only is not None:
                    return self.read_only.ask(query)
                if self._db is None:
                    self._db = connect(self._path, self._durability, self._busy_seconds)
                return query(self._db)
            except FAULTS as error:
                raise designed(error, self._path) from error


_HEAD = (
    "SELECT number, digest FROM versions WHERE run = ? AND workspace = ? "
    "ORDER BY number DESC LIMIT 1"
)
_ONE = "SELECT number, digest FROM versions WHERE run = ? AND workspace = ? AND number = ?"
_SUBJECTS = "SELECT DISTINCT subject FROM notes WHERE subject >= ? AND subject < ?"
_NOTE = "SELECT hash, body FROM notes WHERE subject = ? ORDER BY position LIMIT 1 OFFSET ?"


def _head(db: sqlite3.Connection, name: str, run: str) -> tuple[int, str] | None:
    with snapshot(db):
        row = db.execute(_HEAD, (run, name)).fetchone()
        return agreed_version(name, row, last_note(db, versions_of(run, name)))


def _get(db: sqlite3.Connection, name: str, number: int, run: str) -> str | None:
    if number < 1:
        return None
    with snapshot(db):
        row = db.execute(_ONE, (run, name, number)).fetchone()
        noted = db.execute(_NOTE, (versions_of(run, name), number - 1)).fetchone()
        found = agreed_version(name, row, None if noted is None else read_note(*noted))
        return None if found is None else found[1]


def _names(db: sqlite3.Connection, run: str) -> list[str]:
    with snapshot(db):
        rows = db.execute("SELECT DISTINCT workspace FROM versions WHERE run = ?", (run,))
        return agreed_names(rows, db.execute(_SUBJECTS, range_of(run)))
