"""Stored states of runs, in a separate SQLite file, which may be deleted at any time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from artificer.errors import OperatorError
from artificer.storage.sqlite.cache import open_cache

_TABLES = (
    "CREATE TABLE IF NOT EXISTS states (run TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS chunks (run TEXT NOT NULL, first INTEGER NOT NULL, "
    "body BLOB NOT NULL, PRIMARY KEY (run, first)) STRICT",
)


class SqliteSnapshots:
    """`Snapshots` in the file ``path``, for any number of threads and processes.

    The file is made when something is first kept. It is not synced: a loss of power may take it,
    and costs a longer load. Every method raises OperatorError when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file. May be called more than once."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep a state and the messages from ``first`` on, in one transaction."""
        with self._opened() as db:
            db.execute("BEGIN IMMEDIATE")
            if first == 0:
                db.execute("DELETE FROM chunks WHERE run = ?", (run,))
            if chunk:
                db.execute("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)", (run, first, chunk))
            db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (run, state))
            db.execute("COMMIT")

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""
        if self._db is None and not self._path.exists():
            return None
        with self._opened() as db:
            db.execute("BEGIN")
            row = db.execute("SELECT body FROM states WHERE run = ?", (run,)).fetchone()
            chunks = db.execute(
                "SELECT body FROM chunks WHERE run = ? ORDER BY first", (run,)
            ).fetchall()
            db.execute("COMMIT")
        return None if row is None else (row[0], [body for (body,) in chunks])

    def drop(self, run: str) -> None:
        """Forget a run."""
        if self._db is None and not self._path.exists():
            return
        with self._opened() as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM chunks WHERE run = ?", (run,))
            db.execute("DELETE FROM states WHERE run = ?", (run,))
            db.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._db is None:
                    self._db = open_cache(self._path, _TABLES)
                yield self._db
            except (sqlite3.Error, OSError) as error:
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise OperatorError(
                    f"{self._path} cannot be used: {error}.",
                    hint="You may delete it: the journal contains everything in it.",
                ) from error


class NoSnapshots:
    """`Snapshots` of a storage that is only read: it keeps none."""

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep nothing."""

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """Nothing is kept of any run."""
        return None

    def drop(self, run: str) -> None:
        """There is nothing to forget."""
