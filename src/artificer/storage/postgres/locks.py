"""Locks that hold until the transaction ends, for what has no row of its own to lock."""

from __future__ import annotations

from enum import IntEnum
from typing import LiteralString

from psycopg import Connection


class Lock(IntEnum):
    """A thing that is locked.

    A transaction takes the notes before all others, and those before it locks any row.
    """

    TABLES = 1
    """Making the tables."""
    BIRTHS = 2
    """The numbers of new runs, which have no gaps."""
    NOTES = 3
    """The notes, and so the tables that follow from them: each continues the one before."""
    OBJECT = 4
    """An object of the store of large blobs, while it is removed or found to be wanted."""
    PERMITS = 5
    """The permits of a shared limit, while one is taken."""


HOLD: LiteralString = "SELECT pg_advisory_xact_lock(%(lock)s, hashtext(%(schema)s))"
"""Takes a lock of a world, and keeps it until the transaction ends."""


def hold(db: Connection, lock: Lock, schema: str) -> None:
    """Take a lock of a world, and keep it until the transaction ends."""
    db.execute(HOLD, {"lock": int(lock), "schema": schema})
