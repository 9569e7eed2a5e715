"""Databases next to the journal that hold nothing of their own: lost, they are made again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from artificer.files import private_file, private_folder


def open_cache(path: Path, busy_seconds: float, statements: Iterable[str]) -> sqlite3.Connection:
    """Open or make a cache, which any thread may use under a lock, and execute the statements.

    Raises sqlite3.Error, OSError.
    """
    private_folder(path.parent)  # of a world in PostgreSQL, nothing else may be here yet
    private_file(path)
    db = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
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
