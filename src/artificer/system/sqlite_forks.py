"""SQLite files in forked processes, which leave them alone.

A fork copies what SQLite knows of its locks, but not the locks. If it opened such a file again,
SQLite would take no lock, and another process would remove the log that the fork writes. If it
closed a connection, at its end too, it might remove the log that others have written.
https://sqlite.org/howtocorrupt.html#_carrying_an_open_database_file_across_a_fork_
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from weakref import WeakKeyDictionary

from artificer.errors import AuthorError
from artificer.system.files import identity_of


def connect(path: Path, busy_seconds: float, mode: str = "rwc") -> sqlite3.Connection:
    """Open a file, for any thread, one at a time. A fork of this process leaves it alone.

    Raises:
        AuthorError: it was open in the process that has forked this one.
    """
    if _inherited and identity_of(path) in _inherited:
        raise AuthorError(
            f"The process that has forked this one had {path} open: it cannot be opened here.",
            hint="Fork before a world is opened or after it is closed; or start the process with "
            "multiprocessing's start method spawn or forkserver.",
        )
    place = path.absolute()
    connection = sqlite3.connect(
        f"{place.as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    _open_here[connection] = place
    return connection


class _Connection(sqlite3.Connection):
    def close(self) -> None:
        """Close it. May be called more than once."""
        _open_here.pop(self, None)
        super().close()


_open_here: WeakKeyDictionary[_Connection, Path] = WeakKeyDictionary()
_inherited: set[tuple[int, int]] = set()


def _after_fork() -> None:
    for connection, path in list(_open_here.items()):
        if (identity := identity_of(path)) is not None:
            _inherited.add(identity)
        _never_close(connection)
    _open_here.clear()


def _never_close(connection: sqlite3.Connection) -> None:
    """Keep a connection for ever: at its end, a process closes all that it still has."""
    import ctypes  # rarely needed

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


os.register_at_fork(after_in_child=_after_fork)
