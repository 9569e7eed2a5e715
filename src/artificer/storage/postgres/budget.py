"""Budgets, in PostgreSQL: all processes on all machines spend from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from psycopg import Connection

from artificer.ports import Amount, Correction, Reservation, Settlement, Spending, Spent
from artificer.storage.agreement import agreed_total
from artificer.storage.budget import Change, changes_of, corrected
from artificer.storage.notes import BudgetReserved, BudgetSettled, spent_from
from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.reader import ask_last_note
from artificer.storage.postgres.transaction import PostgresTransaction
from artificer.storage.postgres.writer import PostgresWriter

# An account's total is its row 0; every other row is a reservation.
_TOTAL = "SELECT tokens, micros FROM spending WHERE account = %s AND n = 0"

_RESERVED = (
    "SELECT coalesce(sum(tokens), 0)::bigint, coalesce(sum(micros), 0)::bigint FROM spending "
    "WHERE account = %s AND until > %s AND n <> ALL(%s::bigint[])"
)

_SPENT = """
SELECT coalesce(sum(tokens) FILTER (WHERE until IS NULL), 0)::bigint,
       coalesce(sum(micros) FILTER (WHERE until IS NULL), 0)::bigint,
       coalesce(sum(tokens) FILTER (WHERE until > %(now)s), 0)::bigint,
       coalesce(sum(micros) FILTER (WHERE until > %(now)s), 0)::bigint
FROM spending WHERE account = %(account)s
"""

_SET_TOTAL = (
    "INSERT INTO spending VALUES (%s, 0, %s, %s) ON CONFLICT (account, n) DO UPDATE "
    "SET tokens = excluded.tokens, micros = excluded.micros"
)


class PostgresBudget:
    """The budgets of a world in PostgreSQL."""

    def __init__(self, writer: PostgresWriter, server: Server) -> None:
        self._writer = writer
        self._server = server

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Reserve all of these amounts, durably. Raises BudgetError."""
        spending = Spending(reservations=reservations)
        await self._writer.perform(lambda work: _spend(work, spending), notes=True)

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have really cost, durably."""
        await self._writer.perform(lambda work: _spend(work, Spending(settlements)), notes=True)

    async def spent(self, account: str, now: int) -> Spent:
        """Return what an account has spent, and what is reserved from it."""
        values = {"account": account, "now": now}
        row = await self._server.ask(lambda db: db.execute(_SPENT, values).fetchone())
        assert row is not None
        return Spent(Amount(row[0], row[1]), Amount(row[2], row[3]))

    async def correct(self, account: str, correction: Correction) -> Amount:
        """Correct an account's total, and return it."""
        return await self._writer.perform(
            lambda work: _correct(work, account, correction), notes=True
        )


def _spend(work: PostgresTransaction, spending: Spending) -> None:
    write(work, changes(work, spending))


def changes(work: PostgresTransaction, spending: Spending) -> list[BudgetReserved | BudgetSettled]:
    """Return the notes of changes that can be made. Raises BudgetError, TamperedError."""
    accounts = {settled.account for settled in spending.settlements}
    accounts |= {wanted.account for wanted in spending.reservations}
    if not accounts:
        return []
    work.begin_notes()
    queries = {account: _ask_total(work.db, account) for account in accounts}  # all at once
    totals = {account: total() for account, total in queries.items()}
    return changes_of(
        spending,
        totals.__getitem__,
        lambda account, now, without: _reserved_of(work.db, account, now, without),
    )


def write(work: PostgresTransaction, changes: Sequence[Change]) -> None:
    """Make changes, together with their notes."""
    db = work.db
    for note in changes:
        work.note(note)
        if isinstance(note, BudgetReserved):
            db.execute(
                "INSERT INTO spending VALUES (%s, %s, %s, %s, %s)",
                (note.account, int(note.reservation), note.tokens, note.micros, note.until),
            )
            db.execute("DELETE FROM spending WHERE until <= %s", (note.at,))
            continue
        if isinstance(note, BudgetSettled) and (number := int(note.reservation)):
            row = (note.account, number)
            db.execute("DELETE FROM spending WHERE account = %s AND n = %s", row)
        db.execute(_SET_TOTAL, (note.account, note.tokens, note.micros))


def _correct(work: PostgresTransaction, account: str, correction: Correction) -> Amount:
    work.begin_notes()
    total = correction.of(_ask_total(work.db, account)())
    write(work, [corrected(account, total, correction)])
    return total


def _reserved_of(db: Connection, account: str, now: int, without: Collection[int]) -> Amount:
    row = db.execute(_RESERVED, (account, now, list(without))).fetchone()
    assert row is not None
    return Amount(*row)


def _ask_total(db: Connection, account: str) -> Callable[[], Amount]:
    """Ask for an account's total. It is there if its row and its last note agree.

    Calling the result raises TamperedError.
    """
    row = db.execute(_TOTAL, (account,))
    note = ask_last_note(db, spent_from(account))
    return lambda: agreed_total(account, row.fetchone(), note())
