"""The versions of workspaces, in memory and in SQLite.

The file ``workspaces.db`` stands beside the journal and is no part of it: a version is added by a
tool call, which the journal records before and after, and finds itself again by its key.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from artificer.errors import ConfigError, OperatorError, TamperedError
from artificer.files import private_file, private_folder
from artificer.ports import Durability

APPLICATION_ID = 0x41727477
"""What SQLite's header says the file belongs to: "Artw"."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS versions (run TEXT NOT NULL, workspace TEXT NOT NULL, "
    "number INTEGER NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (run, workspace, number)) "
    "STRICT, WITHOUT ROWID"
)

# One statement is the compare and the swap: of any number of writers, one finds its number free.
_ADD = (
    "INSERT INTO versions SELECT ?1, ?2, ?3, ?4 WHERE ?3 = 1 + coalesce("
    "(SELECT max(number) FROM versions WHERE run = ?1 AND workspace = ?2), 0)"
)


class MemoryVersions:
    """`Versions` that die with their process."""

    def __init__(self) -> None:
        self._chains: dict[tuple[str, str], list[str]] = {}
        self._lock = threading.Lock()

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest."""
        chain = self._chains.get((run, name), [])
        return (len(chain), chain[-1]) if chain else None

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest."""
        chain = self._chains.get((run, name), [])
        return chain[number - 1] if 1 <= number <= len(chain) else None

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        with self._lock:
            if number != len(self._chains.get((run, name), [])) + 1:
                return False
            self._chains.setdefault((run, name), []).append(digest)
            return True

    def names(self, run: str = "") -> list[str]:
        """Every name, in order."""
        return sorted(name for owner, name in list(self._chains) if owner == run)


class SqliteVersions:
    """`Versions` in the file ``path``, for any number of threads and processes.

    The file is made when a version is first added. With durability ``power`` a version is on the
    disk once ``add`` has returned. Every method raises OperatorError when the file cannot be used,
    ConfigError when it is another, and TamperedError when it is damaged.
    """

    def __init__(
        self, path: str | Path, durability: Durability = "power", *, busy_seconds: float = 10.0
    ) -> None:
        self._path = Path(path).absolute()
        self._durability = durability
        self._busy_seconds = busy_seconds
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file. May be called more than once."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest."""
        rows = self._read(
            "SELECT number, digest FROM versions WHERE run = ? AND workspace = ? "
            "ORDER BY number DESC LIMIT 1",
            (run, name),
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest."""
        rows = self._read(
            "SELECT digest FROM versions WHERE run = ? AND workspace = ? AND number = ?",
            (run, name, number),
        )
        return rows[0][0] if rows else None

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        with self._opened() as db:
            return db.execute(_ADD, (run, name, number, digest)).rowcount == 1

    def names(self, run: str = "") -> list[str]:
        """Every name, in order."""
        rows = self._read(
            "SELECT DISTINCT workspace FROM versions WHERE run = ? ORDER BY workspace", (run,)
        )
        return [row[0] for row in rows]

    def _read(self, query: str, values: tuple[str | int, ...]) -> list[Any]:
        if self._db is None and not self._path.exists():
            return []
        with self._opened() as db:
            return db.execute(query, values).fetchall()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._db is None:
                    self._db = self._connect()
                yield self._db
            except (sqlite3.Error, OSError) as error:
                raise self._designed(error) from error

    def _connect(self) -> sqlite3.Connection:
        private_folder(self._path.parent)
        private_file(self._path)
        db = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute(
                f"PRAGMA synchronous = {'FULL' if self._durability == 'power' else 'NORMAL'}"
            )
            db.execute("PRAGMA fullfsync = ON")
            db.execute("PRAGMA trusted_schema = OFF")
            (owner,) = db.execute("PRAGMA application_id").fetchone()
            (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if owner != APPLICATION_ID and (owner or tables):
                raise ConfigError(f"{self._path} does not hold the versions of workspaces.")
            db.execute("BEGIN IMMEDIATE")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(_TABLE)
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _designed(self, error: sqlite3.Error | OSError) -> OperatorError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return TamperedError(
                f"{self._path} is damaged: {error}.", hint="Restore it from a backup."
            )
        return OperatorError(
            f"{self._path} cannot be read or written: {error}.",
            hint="Nothing was written. Check the disk and the permissions, and try again.",
        )
