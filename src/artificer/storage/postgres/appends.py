"""An append, as a unit of work that can tell by itself whether it was done."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.ports import Head, Record, Spending
from artificer.storage.chain import verify_link
from artificer.storage.postgres import budget
from artificer.storage.postgres.append_statement import append_statement
from artificer.storage.postgres.committing import QuickStatement, UnitOfWork
from artificer.storage.postgres.cost_clauses import is_usual
from artificer.storage.postgres.transaction import PostgresTransaction, refusal

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
    is_ours: bool = False
    """Whether the epoch was given to this process."""

    @property
    def costs(self) -> bool:
        """Whether it costs something, or may."""
        return bool(self.spending.settlements or self.spending.reservations)

    def unit(self) -> UnitOfWork:
        """The unit of work: one statement, behind the lock of notes if it costs something.

        One without records, which only costs something, cannot tell whether it was done.
        """
        again = self.again if self.records else None
        at_once = again is not None and is_usual(self.spending)
        size = sum(len(record.body) for record in self.records) + sum(map(len, self.blobs))
        is_quick = at_once and self.head.seq > 0 and size <= QUICK_BYTES
        return UnitOfWork(
            self.write if at_once else self.careful,
            again,
            self.refusal,
            is_statement=at_once and not self.costs,
            notes=self.costs,
            careful=self.careful if at_once and self.costs else None,
            quick=self.statement if is_quick else None,
        )

    def statement(self) -> QuickStatement:
        """Return its statement. Raises InvariantError."""
        new_head = verify_link(self.run, self.head, self.records)
        query, values = append_statement(
            self.run, self.epoch, self.head, self.records, new_head, self.blobs, self.spending
        )
        return QuickStatement(query, values, new_head, notes=self.costs)

    def write(self, transaction: PostgresTransaction) -> Head:
        """Append, and return the new head. Raises InvariantError."""
        new_head = verify_link(self.run, self.head, self.records)
        transaction.append(
            self.run, self.epoch, self.head, self.records, new_head, self.blobs, self.spending
        )
        return new_head

    def careful(self, transaction: PostgresTransaction) -> Head:
        """Append when all that may refuse it has been asked for, and return the new head.

        Raises InvariantError, BudgetError, TamperedError.
        """
        new_head = verify_link(self.run, self.head, self.records)
        changes = budget.changes(transaction, self.spending)
        transaction.append(self.run, self.epoch, self.head, self.records, new_head, self.blobs)
        budget.write(transaction, changes)
        return new_head

    def again(self, transaction: PostgresTransaction) -> Head:
        """Append unless that was done, and return the new head. Raises as ``careful`` does."""
        new_head = verify_link(self.run, self.head, self.records)
        if transaction.has(self.run, self.epoch, new_head):
            return new_head
        return self.careful(transaction)

    def refusal(self, db: Connection) -> ArtificerError:
        """Return why the fence has rejected it."""
        return refusal(db, self.run, self.epoch, self.head, is_ours=self.is_ours)
