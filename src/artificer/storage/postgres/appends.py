"""An append, as a unit of work that can tell by itself whether it was done."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.ports import Head, Record, Spending
from artificer.storage.chain import verify_link
from artificer.storage.postgres import budget
from artificer.storage.postgres.committing import QuickStatement, UnitOfWork
from artificer.storage.postgres.transaction import PostgresTransaction, append_statement, refusal

QUICK_BYTES = 65_536
"""Most bytes of a statement that the event loop makes and sends itself, doing nothing else."""


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
    blobs: Sequence[bytes]
    spending: Spending

    def unit(self) -> UnitOfWork:
        """The unit of work. An append that costs nothing is one statement.

        One without records, which only costs something, cannot tell whether it was done.
        """
        costs = bool(self.spending.settlements or self.spending.reservations)
        again = self.again if self.records else None
        is_statement = not costs and again is not None
        size = sum(len(record.body) for record in self.records) + sum(map(len, self.blobs))
        is_quick = is_statement and self.head.seq > 0 and size <= QUICK_BYTES
        return UnitOfWork(
            self.write,
            again,
            self.refusal,
            is_statement=is_statement,
            notes=costs,
            quick=self.statement if is_quick else None,
        )

    def statement(self) -> QuickStatement:
        """Return the statement of an append that costs nothing. Raises InvariantError."""
        new_head = verify_link(self.run, self.head, self.records)
        query, values = append_statement(
            self.run, self.epoch, self.head, self.records, new_head, self.blobs
        )
        return QuickStatement(query, values, new_head)

    def write(self, transaction: PostgresTransaction) -> Head:
        """Append, and return the new head. Raises InvariantError, BudgetError, TamperedError."""
        new_head = verify_link(self.run, self.head, self.records)
        changes = budget.changes(transaction, self.spending)  # whatever refuses comes first
        transaction.append(self.run, self.epoch, self.head, self.records, new_head, self.blobs)
        budget.write(transaction, changes)
        return new_head

    def again(self, transaction: PostgresTransaction) -> Head:
        """Append unless that was done, and return the new head. Raises as ``write`` does."""
        new_head = verify_link(self.run, self.head, self.records)
        if transaction.has(self.run, self.epoch, new_head):
            return new_head
        return self.write(transaction)

    def refusal(self, db: Connection) -> ArtificerError:
        """Return why the fence has rejected it."""
        return refusal(db, self.run, self.epoch, self.head)
