"""Small blobs: bytes committed together with the records that cite them.

A turn cites several (its calls, its reply, its tools). As files each would take its own fsync and
could be there without its record; here they share the record's commit.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from artificer.storage.sqlite.database import FAULTS, designed
from artificer.storage.sqlite.reader import Source
from artificer.system.read_only import ReadOnlyDatabase

T = TypeVar("T")


class SqliteSmall:
    """The small blobs of a journal's file, read on their own connection, by any thread."""

    def __init__(self, source: Source, path: Path) -> None:
        self._source = source
        self._path = path
        self._lock = threading.Lock()
        self._closed = False

    def find(self, digest: str) -> bytes | None:
        """The bytes as they are stored, or None when they are not here.

        Raises:
            OperatorError: the file cannot be read; TamperedError if it is damaged.
        """
        query = "SELECT data FROM blobs WHERE digest = ?"
        rows = self.ask(lambda db: db.execute(query, (digest,)).fetchall())
        found: bytes | None = rows[0][0] if rows else None
        return found

    def digests(self) -> Iterable[str]:
        """Every digest, as of now."""
        query = "SELECT digest FROM blobs"
        return [digest for (digest,) in self.ask(lambda db: db.execute(query).fetchall())]

    def close(self) -> None:
        """Close the connection. What is asked for later opens the file for as long as it takes."""
        with self._lock:
            self._source.close()
            if not isinstance(self._source, ReadOnlyDatabase):
                self._source = ReadOnlyDatabase(self._path)
            self._closed = True

    def ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return a query's result, by any thread. Raises what ``find`` does."""
        try:
            with self._lock:
                found = self._source.ask(query)
                if self._closed:  # a run outlives its world, and can still be read
                    self._source.close()
                return found
        except FAULTS as error:
            raise designed(error, self._path) from error
