"""Databases next to the journal that are only caches, and are rebuilt if they are lost."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from artificer.errors import AuthorError, OperatorError
from artificer.system import sqlite_forks
from artificer.system.files import identity_of, private_file, private_folder

BUSY_SECONDS = 2.0
"""How long to wait while another process writes a cache: longer would cost more than it saves."""

UNUSABLE = (sqlite3.Error, OSError, UnicodeDecodeError)
"""The errors of a cache that cannot be used."""


class CacheFile:
    """A cache in the file ``path``, for any number of threads and processes.

    It is made when it is first used, and each new connection is given to ``prepare``. A damaged
    cache is removed and made again; others that have it open notice that.
    """

    def __init__(self, path: Path, prepare: Callable[[sqlite3.Connection], object]) -> None:
        self._path = path
        self._prepare = prepare
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file. May be called more than once."""
        with self._lock:
            self._close()

    @property
    def is_absent(self) -> bool:
        """Whether nothing was cached yet."""
        return self._db is None and not self._path.exists()

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """The file, for the caller alone. What was begun and not committed is rolled back.

        Raises:
            OperatorError: it cannot be used.
        """
        with self._lock:
            try:
                if self._db is None or self._file != identity_of(self._path):
                    self._open()
                assert self._db is not None
                yield self._db
            except UNUSABLE as error:
                if _is_damage(error):
                    with suppress(OSError):
                        self._remove()
                raise unusable_cache(self._path, error) from error
            finally:
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def remove(self) -> None:
        """Remove the file. Raises OperatorError."""
        with self._lock:
            try:
                self._remove()
            except OSError as error:
                raise unusable_cache(self._path, error) from error

    def _open(self) -> None:
        self._close()
        db = _connect(self._path)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")
            db.execute("PRAGMA trusted_schema = OFF")
            self._prepare(db)
        except BaseException:  # an interrupt too: nobody else could close it
            db.close()
            raise
        self._db, self._file = db, identity_of(self._path)

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _remove(self) -> None:
        self._close()
        for end in ("", "-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)


def unusable_cache(path: Path, error: Exception) -> OperatorError:
    """Return the error for a cache that cannot be used."""
    return OperatorError(
        f"{path} cannot be used: {error}.",
        hint="You may delete it: it is rebuilt when it is needed.",
    )


def _connect(path: Path) -> sqlite3.Connection:
    private_folder(path.parent)  # of a world in PostgreSQL, nothing else may be here yet
    private_file(path)
    try:
        return sqlite_forks.connect(path, BUSY_SECONDS)
    except AuthorError as error:  # its users do without a cache, or say why they cannot
        raise OperatorError(error.message, hint=error.hint) from error


def _is_damage(error: Exception) -> bool:
    """Whether an error says that the file is damaged, and not that it cannot be used now."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
