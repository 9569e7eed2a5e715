"""A world that was restored on another server, whose transactions have lower numbers.

Entries join the world's chain in the order of their transactions' numbers. What is written on the
other server would come before all that was restored, and never join. So the restored entries get
the number 0, which no transaction has; the chain has their order.
"""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection

from artificer.storage.chain import next_world
from artificer.storage.postgres.chaining import end_of, waiting
from artificer.storage.postgres.locks import Lock, hold

_FROM_LATER: LiteralString = """
SELECT coalesce(greatest(
  (SELECT xid FROM tip),
  (SELECT xid FROM records ORDER BY xid DESC, entry DESC LIMIT 1),
  (SELECT xid FROM notes ORDER BY xid DESC, entry DESC LIMIT 1)
) >= pg_snapshot_xmax(pg_current_snapshot()), false)
"""


def begin_again(db: Connection, schema: str) -> bool:
    """Make what was restored come before all that is written here; return whether that was needed.

    Raises:
        TamperedError: the world does not say where its chain ends.
    """
    if not _is_from_later(db):
        return False
    with db.transaction():
        hold(db, Lock.TABLES, schema)
        if not _is_from_later(db):
            return False
        db.execute("LOCK TABLE records, notes, chain, tip IN ACCESS EXCLUSIVE MODE")
        end = end_of(db, locked=True)
        position, world = end.tip.position, end.tip.world
        for xid, entry, hash_ in waiting(db, end, limit=None):
            position, world = position + 1, next_world(world, hash_)
            row = (position, world, xid, entry)
            db.execute("INSERT INTO chain VALUES (%s, %s, %s::xid8, %s)", row)
        db.execute(
            "UPDATE tip SET position = %s, world = %s, xid = '0', "
            "entry = (SELECT coalesce(max(entry), 0) FROM chain)",
            (position, world),
        )
        for statement in _RENUMBER:
            db.execute(statement)
    return True


_RENUMBER: tuple[LiteralString, ...] = (
    "UPDATE records SET xid = '0' WHERE xid <> '0'",
    "UPDATE notes SET xid = '0' WHERE xid <> '0'",
    "UPDATE chain SET xid = '0' WHERE xid <> '0'",
)


def _is_from_later(db: Connection) -> bool:
    row = db.execute(_FROM_LATER).fetchone()
    return row is not None and bool(row[0])
