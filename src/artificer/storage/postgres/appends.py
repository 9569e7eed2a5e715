"""An append, as a unit of work that can tell by itself whether it was done."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace
from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.ports import NO_SPENDING, Head
from artificer.storage.postgres import budget
from artificer.storage.postgres.append_statement import Append, append_statement
from artificer.storage.postgres.committing import QuickStatement, UnitOfWork
from artificer.storage.postgres.cost_clauses import is_usual
from artificer.storage.postgres.transaction import PostgresTransaction, refusal

QUICK_BYTES = 65_536
"""Most bytes of a statement that the event loop makes and sends itself, doing nothing else."""


def unit_of(append: Append, *, is_ours: bool = False) -> UnitOfWork:
    """Return an append as a unit of work; ``is_ours`` is whether its epoch was given to us.

    It is one statement, behind the lock of notes if it costs something. One without records, which
    only costs something, cannot tell whether it was done.
    """
    work = _AppendWork(append, is_ours)
    again = work.again if append.records else None
    at_once = again is not None and is_usual(append.spending)
    size = sum(len(record.body) for record in append.records) + sum(map(len, append.blobs))
    is_quick = at_once and append.head.seq > 0 and size <= QUICK_BYTES
    return UnitOfWork(
        work.write if at_once else work.careful,
        again,
        work.refusal,
        is_statement=at_once and not append.costs,
        notes=append.costs,
        careful=work.careful if at_once and append.costs else None,
        quick=work.statement if is_quick else None,
    )


class _AppendWork(Struct, frozen=True, gc=False):
    """The ways to write one append."""

    append: Append
    is_ours: bool

    def statement(self) -> QuickStatement:
        """Return its statement. Raises InvariantError."""
        new_head = self.append.verified()
        query, values = append_statement(self.append, new_head)
        return QuickStatement(query, values, new_head, notes=self.append.costs)

    def write(self, transaction: PostgresTransaction) -> Head:
        """Append, and return the new head. Raises InvariantError."""
        new_head = self.append.verified()
        transaction.append(self.append, new_head)
        return new_head

    def careful(self, transaction: PostgresTransaction) -> Head:
        """Append when all that may refuse it has been asked for, and return the new head.

        Raises InvariantError, BudgetError, TamperedError.
        """
        new_head = self.append.verified()
        changes = budget.changes(transaction, self.append.spending)
        transaction.append(replace(self.append, spending=NO_SPENDING), new_head)
        budget.write(transaction, changes)
        return new_head

    def again(self, transaction: PostgresTransaction) -> Head:
        """Append unless that was done, and return the new head. Raises as ``careful`` does."""
        new_head = self.append.verified()
        if transaction.has(self.append.run, self.append.epoch, new_head):
            return new_head
        return self.careful(transaction)

    def refusal(self, db: Connection) -> ArtificerError:
        """Return why the fence has rejected it."""
        append = self.append
        return refusal(db, append.run, append.epoch, append.head, is_ours=self.is_ours)
