"""The statement of an append: the fence, the records, their small blobs, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, LiteralString

from msgspec import Struct
from psycopg.errors import InvalidTextRepresentation

from artificer.ports import NO_SPENDING, Head, Record, Spending
from artificer.storage.chain import verify_link
from artificer.storage.postgres.cost_clauses import CostShape, cost_clauses, cost_values, shape_of
from artificer.values.canon import digest_of

_MOVED = """moved AS (
  UPDATE runs SET seq = %(new_seq)s, hash = %(new_hash)s
  WHERE run = %(run)s AND epoch = %(epoch)s AND seq = %(seq)s AND hash = %(hash)s RETURNING run
), added AS (
  INSERT INTO records (run, seq, hash, body)
  SELECT moved.run, %(seq)s + new.n, new.hash, new.body
  FROM moved, unnest(%(hashes)s::text[], %(bodies)b::bytea[]) WITH ORDINALITY AS new (hash, body, n)
  ORDER BY new.n
)"""
# A blob that lay there already is a record's own from now on. One that was so before is not
# touched: ON CONFLICT would lock its row, and all runs have blobs in common. It stays there, since
# a removal of blobs locks the table of records first, and this statement looks after that.
_KEPT = """kept AS (
  INSERT INTO blobs (digest, data) SELECT new.digest, new.data
  FROM moved, unnest(%(digests)s::text[], %(blobs)b::bytea[]) AS new (digest, data)
  WHERE NOT EXISTS (SELECT FROM blobs WHERE blobs.digest = new.digest AND blobs.put IS NULL)
  ORDER BY new.digest
  ON CONFLICT (digest) DO UPDATE SET put = NULL WHERE blobs.put IS NOT NULL
)"""
_NOT_MOVED = "1 - (SELECT count(*) FROM moved)"

PLAN_ONCE: LiteralString = "SET plan_cache_mode = force_generic_plan"
"""Keeps the plan of a statement. To plan an append each time takes longer than to execute it,
and PostgreSQL does so where it takes arrays for longer than they are."""

NOT_WRITTEN = InvalidTextRepresentation
"""The error of the database for an append that its own statement refuses."""


class Append(Struct, frozen=True, gc=False):
    """Records of a run, their small blobs, and what they cost.

    Only the writer with an epoch appends at it, and each record names the one before it by its
    hash. So records that are there while the epoch is the last one are those of this append; and
    when they are not, this append moves the head from where it knows it to be, or never will.
    """

    run: str
    epoch: int
    head: Head
    records: Sequence[Record]
    blobs: Sequence[bytes] = ()
    spending: Spending = NO_SPENDING

    @property
    def costs(self) -> bool:
        """Whether it costs something, or may."""
        return bool(self.spending.settlements or self.spending.reservations)

    def verified(self) -> Head:
        """Check that its records continue the chain; return the new head. Raises InvariantError."""
        return verify_link(self.run, self.head, self.records)


def append_statement(append: Append, new_head: Head) -> tuple[bytes, dict[str, Any]]:
    """Return the statement of an append that leads to ``new_head``, and its values.

    One that costs something is to follow the lock of notes, in the same transaction: a statement
    sees nothing that was committed after it had started.
    """
    values: dict[str, Any] = {
        "run": append.run,
        "epoch": append.epoch,
        "seq": append.head.seq,
        "hash": append.head.hash,
        "new_seq": new_head.seq,
        "new_hash": new_head.hash,
        "hashes": [record.hash for record in append.records],
        "bodies": [record.body for record in append.records],
    }
    if append.blobs:
        kept = {digest_of(blob): blob for blob in append.blobs}
        values |= {"digests": list(kept), "blobs": list(kept.values())}
    values |= cost_values(append.spending)
    return _text(bool(append.blobs), shape_of(append.spending)), values


@cache
def _text(keeps: bool, costs: CostShape) -> bytes:
    """The text of a statement. Whatever refuses is an error, so that nothing is written: a text
    that is not a number."""
    clauses, refusals = cost_clauses(costs)
    text = f"""
        WITH {", ".join((_MOVED, *[_KEPT] * keeps, *clauses))}
        SELECT CASE WHEN refusals = 0 THEN 1 ELSE ('not written: ' || refusals)::integer END
        FROM (SELECT {" + ".join((_NOT_MOVED, *refusals))} AS refusals) AS found
    """
    return " ".join(text.split()).encode()  # short ones are known again by the driver
