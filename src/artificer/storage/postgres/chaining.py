"""The chain over the whole world, made after the commits that it covers.

If every append moved one chain on, all runs of all machines would wait for each other. So records
and notes are committed with the number of their transaction, and join the chain later, in the order
of these numbers: a transaction may join when every one with a lower number has ended, so that none
can come before it any more. A process that needs the end of the chain moves it on first.
"""

from __future__ import annotations

from typing import LiteralString

from msgspec import Struct
from psycopg import Connection

from artificer.errors import TamperedError
from artificer.storage.audit import Tip
from artificer.storage.chain import next_world

BATCH = 5_000
"""How many entries join the chain in one transaction."""

_WAITING: LiteralString = """
SELECT xid::text, entry, hash FROM (
  (SELECT xid, entry, hash FROM records
   WHERE (xid, entry) > (%(xid)s::xid8, %(entry)s) AND (%(all)s OR xid < %(ended)s::xid8)
   ORDER BY xid, entry LIMIT %(limit)s)
  UNION ALL
  (SELECT xid, entry, hash FROM notes
   WHERE (xid, entry) > (%(xid)s::xid8, %(entry)s) AND (%(all)s OR xid < %(ended)s::xid8)
   ORDER BY xid, entry LIMIT %(limit)s)
) AS waiting ORDER BY waiting.xid, waiting.entry LIMIT %(limit)s
"""

_JOIN: LiteralString = """
INSERT INTO chain SELECT %s + n, world, xid::xid8, entry::bigint
FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS new (world, xid, entry, n)
"""


_ENDS: LiteralString = """
SELECT t.position, t.world, t.xid::text, t.entry, c.position, c.world, c.xid::text, c.entry,
  EXISTS (SELECT 1 FROM records r WHERE (r.xid, r.entry) = (c.xid, c.entry))
  OR EXISTS (SELECT 1 FROM notes n WHERE (n.xid, n.entry) = (c.xid, c.entry))
FROM tip t LEFT JOIN (SELECT * FROM chain ORDER BY position DESC LIMIT 1) AS c ON true
"""


class End(Struct, frozen=True):
    """The end of the chain: its place, and the last entry that has joined."""

    tip: Tip
    xid: str
    entry: int


def end_of(db: Connection, *, locked: bool = False) -> End:
    """Return where the chain ends. ``locked``: and let nobody else move it on.

    Raises:
        TamperedError: the world does not say where.
    """
    query: LiteralString = "SELECT position, world, xid::text, entry FROM tip"
    row = db.execute(f"{query} FOR UPDATE" if locked else query).fetchone()
    if row is None:
        raise TamperedError("The journal does not say where its world chain ends.")
    return End(Tip(row[0], row[1]), row[2], row[3])


def end_problem(db: Connection) -> str:
    """Return what is wrong with the end of the chain, as one sentence; empty when nothing is.

    The chain ends where the tip says, in a record or note that is there.
    """
    row = db.execute(_ENDS).fetchone()
    if row is None:
        return "The journal does not say where its world chain ends."
    tip, last, is_there = row[:4], row[4:8], row[8]
    if last[0] is None:
        last, is_there = (0, tip[1], "0", 0), True
    if tip == last and is_there:
        return ""
    if tip != last:
        found = "has another end" if tip[0] == last[0] else f"ends at {last[0]}"
        return f"The journal says that it ends at position {tip[0]}, but its world chain {found}."
    return f"The record or note at position {tip[0]}, the end of the world chain, is missing."


def check_end(db: Connection) -> None:
    """Check the end of the chain: a writer would go on from there, and hide the change.

    Raises:
        TamperedError: it was changed.
    """
    if problem := end_problem(db):
        raise TamperedError(
            problem,
            hint="Nothing was changed. Run `artificer verify` to see the damage; restore the "
            "world from a backup.",
        )


def waiting(
    db: Connection, end: End, limit: int | None = BATCH, ended: str | None = None
) -> list[tuple[str, int, str]]:
    """Return the transaction, number and hash of entries that come after the end of the chain.

    ``ended``: only those of transactions before this one.
    """
    values = {"xid": end.xid, "entry": end.entry, "limit": limit}
    found = db.execute(_WAITING, {**values, "all": ended is None, "ended": ended or "0"})
    return found.fetchall()


def extend(db: Connection) -> End:
    """Let entries join the chain; return its end. Within a transaction.

    Raises:
        TamperedError: its end was changed.
    """
    row = db.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
    assert row is not None
    end = end_of(db, locked=True)
    check_end(db)
    joining = waiting(db, end, ended=row[0])
    if not joining:
        return end
    worlds, world = [], end.tip.world
    for _, _, hash_ in joining:
        worlds.append(world := next_world(world, hash_))
    xids, entries, _ = zip(*joining, strict=True)
    db.execute(_JOIN, (end.tip.position, worlds, list(xids), [str(entry) for entry in entries]))
    end = End(Tip(end.tip.position + len(worlds), world), *joining[-1][:2])
    db.execute(
        "UPDATE tip SET position = %s, world = %s, xid = %s::xid8, entry = %s",
        (end.tip.position, end.tip.world, end.xid, end.entry),
    )
    return end


def catch_up(db: Connection) -> Tip:
    """Let all entries join that can, a batch in each transaction; return the end of the chain.

    Raises what `extend` does.
    """
    start = end_of(db).tip.position
    while True:
        with db.transaction():
            tip = extend(db).tip
        if tip.position < start + BATCH:
            return tip
        start = tip.position
