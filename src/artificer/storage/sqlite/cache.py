"""Databases next to the journal that are only caches, and are rebuilt if they are lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from artificer.errors import OperatorError
from artificer.system.files import private_file, private_folder

BUSY_SECONDS = 2.0
"""How long to wait while another process writes a cache: longer would cost more than it saves."""


def open_cache(path: Path, statements: Iterable[str]) -> sqlite3.Connection:
    """Open or make a cache, which any thread may use under a lock, and execute the statements.

    Raises sqlite3.Error, OSError.
    """
    private_folder(path.parent)  # of a world in PostgreSQL, nothing else may be here yet
    private_file(path)
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA trusted_schema = OFF")
        for statement in statements:
            db.execute(statement)
    except BaseException:  # an interrupt too: nobody else could close it
        db.close()
        raise
    return db


def is_damage(error: Exception) -> bool:
    """Whether an error says that the file is damaged, and not that it cannot be used now."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def remove_cache(path: Path) -> None:
    """Remove a cache that nobody here has open. Raises OSError."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def unusable_cache(path: Path, error: Exception) -> OperatorError:
    """Return the error for a cache that cannot be used."""
    return OperatorError(
        f"{path} cannot be used: {error}.",
        hint="You may delete it: it is rebuilt when it is needed.",
    )
