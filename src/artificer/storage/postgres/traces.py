"""Traces of a transaction in the tables: they prove that this one was committed, and no other.

The number of a transaction alone does not: a server that crashes may forget which numbers it has
given away, and give them away once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString, NamedTuple

from psycopg import Connection, errors

OWNED: LiteralString = (
    "SELECT 1 FROM runs WHERE run = %s AND (epoch, owner) = (%s, %s) OR run = %s AND epoch > %s"
)
APPENDED: LiteralString = "SELECT 1 FROM records WHERE run = %s AND seq = %s AND hash = %s"
ERASED: LiteralString = (
    "SELECT 1 WHERE NOT EXISTS (SELECT FROM records WHERE run = %s AND seq <= %s AND body <> '')"
)
NOTED: LiteralString = "SELECT 1 FROM notes WHERE subject = %s AND hash = %s"


class Trace(NamedTuple):
    """A query that finds something after a transaction, and found nothing before it."""

    query: LiteralString
    values: tuple[str | int, ...]


def status(db: Connection, xid: str) -> str:
    """Return how the transaction stands that a server gave a number last."""
    try:
        row = db.execute("SELECT pg_xact_status(%s::xid8)", (xid,)).fetchone()
    except errors.InvalidParameterValue:  # it has crashed, and will give the number away again
        return "forgotten"
    return str(row and row[0])


def are_there(db: Connection, traces: Sequence[Trace]) -> bool:
    """Whether everything that a transaction was to leave is there."""
    return all(db.execute(query, values).fetchone() for query, values in traces)
