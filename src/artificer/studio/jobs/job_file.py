"""The file of the queue: its tables, and its transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from artificer.errors import OperatorError
from artificer.system.files import private_file, private_folder
from artificer.system.sqlite_forks import connect

_TABLES = (
    """CREATE TABLE IF NOT EXISTS jobs (
    run TEXT PRIMARY KEY, state TEXT NOT NULL, priority INTEGER NOT NULL,
    submitted INTEGER NOT NULL, due INTEGER NOT NULL, attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL, attempts INTEGER NOT NULL, holder TEXT NOT NULL,
    worker TEXT NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL, fence INTEGER NOT NULL,
    seconds INTEGER NOT NULL, expires INTEGER NOT NULL, ended TEXT NOT NULL,
    error TEXT NOT NULL, tenant TEXT NOT NULL DEFAULT '', lane TEXT NOT NULL DEFAULT '',
    awaits INTEGER NOT NULL DEFAULT 0, ends INTEGER NOT NULL DEFAULT 0,
    woken INTEGER NOT NULL DEFAULT 0) STRICT""",
    "CREATE INDEX IF NOT EXISTS jobs_next ON jobs (state, priority, submitted)",
    """CREATE TABLE IF NOT EXISTS grants (
    run TEXT PRIMARY KEY, job TEXT NOT NULL, attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS blobs (
    job TEXT NOT NULL, digest TEXT NOT NULL, is_own INTEGER NOT NULL,
    PRIMARY KEY (job, digest)) STRICT, WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS tenants (tenant TEXT PRIMARY KEY, turn INTEGER NOT NULL) STRICT",
)

_LATER = ("tenant TEXT", "lane TEXT", "awaits INTEGER", "ends INTEGER", "woken INTEGER")
"""Columns of jobs that a file may lack which an earlier release has made."""


class JobFile:
    """Tables for any number of threads and processes, in ``path``; in memory without one.

    The file is made when something is first changed.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = RLock()
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file. It may be called more than once."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever changed: then there is no file."""
        return self._db is None and (self._path is None or not self._path.exists())

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield the file in a transaction. Raises OperatorError if it cannot be used."""
        with self._lock:
            try:
                db = self._db = self._db or _opened(self._path)
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                except BaseException:  # an interrupt too: half a change must not stay
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
            except sqlite3.Error as error:
                raise OperatorError(
                    f"The queue of jobs cannot be used: {error}.",
                    hint=f"You may remove {self._path}: runs are then submitted again.",
                ) from error


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        private_folder(path.parent)
        private_file(path)
        db = connect(path, busy_seconds=10)
    else:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    for table in _TABLES:
        db.execute(table)
    there = {row[1] for row in db.execute("PRAGMA table_info(jobs)")}
    for column in _LATER:
        name, kind = column.split()
        if name not in there:
            empty = "''" if kind == "TEXT" else "0"
            db.execute(f"ALTER TABLE jobs ADD COLUMN {column} NOT NULL DEFAULT {empty}")
    return db
