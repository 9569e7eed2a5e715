"""Read-only SQLite databases: no file in their folder is created or changed.

SQLite itself does both: a database with a write-ahead log that is opened by a reader gets a
``-wal`` and a ``-shm`` file that stay, owned by the reader; an empty one loses its log. If the
folder is not writable, it does not open at all. So there are three ways to read; the first that
fits is used:

* The logs are empty. Then the file is complete and is read without locks (``immutable``). A writer
  may come at any time; it first changes what ``stat`` returns for the file or its log. A result
  counts only if that is the same before and after; otherwise the query is repeated.
* Its writers share memory (``-shm``). Then it is read like they do, with their locks. If they are
  dead, SQLite repairs the index of the log.
* There is only a log, as after a crash, in a backup, or if this user may not use the shared memory.
  Then file and log are copied to a private temporary folder and read there.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from artificer.errors import OperatorError
from artificer.system.sqlite_forks import connect

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

T = TypeVar("T")

ATTEMPTS = 8
"""How often a query is repeated because a writer interfered."""

_LOGS = ("-wal", "-journal")

_Stamp = tuple[tuple[int, int, int] | None, ...]


class ReadOnlyDatabase:
    """The database in the file ``path``, for any number of threads.

    ``prepare`` is called with each connection before its first use; there may be several.
    With ``copied`` each one opens a private copy, which ``prepare`` may change.
    """

    def __init__(
        self,
        path: Path,
        prepare: Callable[[sqlite3.Connection], None] = lambda db: None,
        *,
        busy_seconds: float = 10.0,
        copied: bool = False,
    ) -> None:
        self._path = path
        self._prepare = prepare
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._way: Literal["still", "shared", "copied"] = "still"
        self._stamp: _Stamp = ()
        self._cannot_share = False
        self._always_copied = copied
        self._folder: TemporaryDirectory[str] | None = None

    def ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return the query's result. It may be called again, on another connection.

        Raises:
            OperatorError: the file cannot be read by this user, or is written all the time.
            sqlite3.Error, and what the query raises.
        """
        with self._lock:
            for attempt in range(ATTEMPTS):
                stamp = self._stamp_now()
                try:
                    result = query(self._connection(stamp))
                except Exception as error:  # of any kind: a writer may have caused it
                    if not self._retries(error, stamp):
                        raise
                else:
                    if self._way == "shared" or self._stamp_now() == stamp:
                        return result
                self._forget()
                time.sleep(0.005 * attempt)
        raise OperatorError(
            f"{self._path} could not be read: another process is writing it continuously.",
            hint="Try again later.",
        )

    def close(self) -> None:
        """Close the file. A later query opens it again."""
        with self._lock:
            self._forget()

    def _retries(self, error: Exception, stamp: _Stamp) -> bool:
        if self._way != "shared":
            return self._stamp_now() != stamp
        # The shared memory may belong to another user, or be on a read-only file system.
        refused = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
        self._cannot_share = getattr(error, "sqlite_errorcode", 0) & 0xFF in refused
        return self._cannot_share

    def _connection(self, stamp: _Stamp) -> sqlite3.Connection:
        if self._db is not None and self._way != "shared" and self._stamp != stamp:
            self._forget()
        if self._db is None:
            self._stamp = stamp
            self._db = self._open()
            try:
                for pragma in ("cell_size_check = ON", "trusted_schema = OFF"):
                    self._db.execute(f"PRAGMA {pragma}")
                self._prepare(self._db)
            except BaseException:  # an interrupt too: a half-prepared connection must not be used
                self._forget()
                raise
        return self._db

    def _open(self) -> sqlite3.Connection:
        if self._path.exists() and not os.access(self._path, os.R_OK):
            raise not_readable(self._path)
        _, *logs = self._stamp
        used = any(log is not None and log[1] for log in logs)
        if not used and not self._always_copied:
            self._way = "still"
            return sqlite3.connect(  # it takes no locks, so a fork may use it
                f"{self._path.as_uri()}?mode=ro&immutable=1",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
        shared = logs[0] is not None and Path(f"{self._path}-shm").exists()
        if shared and not (self._cannot_share or self._always_copied):
            self._way = "shared"
            return connect(self._path, self._busy_seconds, "ro")
        self._way = "copied"
        return connect(self._copy(), self._busy_seconds, "rw")

    def _copy(self) -> Path:
        import shutil  # both: few worlds have to be copied
        import tempfile

        try:
            self._folder = tempfile.TemporaryDirectory(prefix="artificer-")
            copy = Path(self._folder.name) / self._path.name
            for end in ("", *_LOGS):
                if Path(f"{self._path}{end}").exists():
                    shutil.copyfile(f"{self._path}{end}", f"{copy}{end}")
        except PermissionError as error:
            raise not_readable(Path(error.filename or self._path)) from error
        except OSError as error:
            raise OperatorError(
                f"{self._path} has a log, and copying both to read them failed: {error}.",
                hint="Free some space in the folder for temporary files, or set TMPDIR.",
            ) from error
        return copy

    def _stamp_now(self) -> _Stamp:
        return tuple(_stamp(Path(f"{self._path}{end}")) for end in ("", *_LOGS))

    def _forget(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def not_readable(path: Path) -> OperatorError:
    """Return the error for a file of another user."""
    return OperatorError(
        f"{path} cannot be read by this user.",
        hint="The files of a home are private to their owner: run this command as that user.",
    )


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise not_readable(path) from error
    return found.st_mtime_ns, found.st_size, found.st_ino
