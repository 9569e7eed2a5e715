"""Stored states of runs, in a separate SQLite file, which may be deleted at any time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from artificer.storage.sqlite.cache import CacheFile

_TABLES = (
    "CREATE TABLE IF NOT EXISTS states (run TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS chunks (run TEXT NOT NULL, first INTEGER NOT NULL, "
    "body BLOB NOT NULL, PRIMARY KEY (run, first)) STRICT",
)


class SqliteSnapshots:
    """`Snapshots` in the file ``path``, for any number of threads and processes.

    The file is made when something is first kept. It is not synced: a loss of power may take it,
    and costs a longer load. So does damage: then it is made again. Every method raises
    OperatorError when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._cache = CacheFile(path, _make_tables)

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._cache.close()

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep a state and the messages from ``first`` on, in one transaction."""
        with self._cache.opened() as db:
            db.execute("BEGIN IMMEDIATE")
            if first == 0:
                db.execute("DELETE FROM chunks WHERE run = ?", (run,))
            if chunk:
                db.execute("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)", (run, first, chunk))
            db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (run, state))
            db.execute("COMMIT")

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""
        if self._cache.is_absent:
            return None
        with self._cache.opened() as db:
            db.execute("BEGIN")
            row = db.execute("SELECT body FROM states WHERE run = ?", (run,)).fetchone()
            chunks = db.execute(
                "SELECT body FROM chunks WHERE run = ? ORDER BY first", (run,)
            ).fetchall()
            db.execute("COMMIT")
        return None if row is None else (row[0], [body for (body,) in chunks])

    def drop(self, run: str) -> None:
        """Forget a run."""
        if self._cache.is_absent:
            return
        with self._cache.opened() as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM chunks WHERE run = ?", (run,))
            db.execute("DELETE FROM states WHERE run = ?", (run,))
            db.execute("COMMIT")


def _make_tables(db: sqlite3.Connection) -> None:
    for table in _TABLES:
        db.execute(table)


class NoSnapshots:
    """`Snapshots` of a storage that is only read: it keeps none."""

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep nothing."""

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """Nothing is kept of any run."""
        return None

    def drop(self, run: str) -> None:
        """There is nothing to forget."""
