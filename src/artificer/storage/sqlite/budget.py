"""Budgets, in a journal's file: all processes of the machine spend from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from artificer.ports import Amount, Correction, Reservation, Settlement, Spending, Spent
from artificer.storage.agreement import agreed_total
from artificer.storage.budget import Change, changes_of, corrected
from artificer.storage.notes import BudgetReserved, BudgetSettled, spent_from
from artificer.storage.sqlite.reader import Reader
from artificer.storage.sqlite.transaction import Transaction
from artificer.storage.sqlite.writer import Writer

# An account's total is its row 0; every other row is a reservation.
_TOTAL = "SELECT tokens, micros FROM spending WHERE day = ? AND n = 0"

_RESERVED = (
    "SELECT coalesce(sum(tokens), 0), coalesce(sum(micros), 0) FROM spending "
    "WHERE day = ? AND until > ?"
)

_SPENT = """
SELECT coalesce(sum(tokens) FILTER (WHERE until IS NULL), 0),
       coalesce(sum(micros) FILTER (WHERE until IS NULL), 0),
       coalesce(sum(tokens) FILTER (WHERE until > ?), 0),
       coalesce(sum(micros) FILTER (WHERE until > ?), 0)
FROM spending WHERE day = ?
"""

_SET_TOTAL = "INSERT OR REPLACE INTO spending (day, n, tokens, micros) VALUES (?, 0, ?, ?)"


class SqliteBudget:
    """The budgets in a journal's file: all processes of the machine spend from them."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Reserve all of these amounts, durably. Raises BudgetError."""
        await self._writer.perform(lambda work: spend(work, Spending(reservations=reservations)))

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have really cost, durably."""
        await self._writer.perform(lambda work: spend(work, Spending(settlements)))

    async def spent(self, account: str, now: int) -> Spent:
        """Return what an account has spent, and what is reserved from it."""
        row = await self._reader.ask(lambda db: db.execute(_SPENT, (now, now, account)).fetchone())
        return Spent(Amount(row[0], row[1]), Amount(row[2], row[3]))

    async def correct(self, account: str, correction: Correction) -> Amount:
        """Correct an account's total, and return it."""
        return await self._writer.perform(lambda work: _correct(work, account, correction))


def spend(work: Transaction, spending: Spending) -> None:
    """Settle and reserve. Raises BudgetError, TamperedError, before anything is written."""
    write(work, changes(work, spending))


def changes(work: Transaction, spending: Spending) -> list[BudgetReserved | BudgetSettled]:
    """Return the notes of changes that can be made. Raises BudgetError, TamperedError."""
    return changes_of(
        spending,
        lambda account: _total_of(work, account),
        lambda account, now, without: _reserved_of(work.db, account, now, without),
    )


def write(work: Transaction, changes: Sequence[Change]) -> None:
    """Make changes, together with their notes."""
    db = work.db
    for note in changes:
        work.note(note)
        if isinstance(note, BudgetReserved):
            db.execute(
                "INSERT INTO spending VALUES (?, ?, ?, ?, ?)",
                (note.account, int(note.reservation), note.tokens, note.micros, note.until),
            )
            db.execute("DELETE FROM spending WHERE until <= ?", (note.at,))
            continue
        if isinstance(note, BudgetSettled) and (number := int(note.reservation)):
            row = (note.account, number)
            db.execute("DELETE FROM spending WHERE day = ? AND n = ?", row)
        db.execute(_SET_TOTAL, (note.account, note.tokens, note.micros))
        work.totals[note.account] = Amount(note.tokens, note.micros)


def _correct(work: Transaction, account: str, correction: Correction) -> Amount:
    total = correction.of(_total_of(work, account))
    write(work, [corrected(account, total, correction)])
    return total


def _reserved_of(
    db: sqlite3.Connection, account: str, now: int, without: Collection[int]
) -> Amount:
    tokens, micros = db.execute(_RESERVED, (account, now)).fetchone()
    for number in set(without):
        row = db.execute(f"{_RESERVED} AND n = ?", (account, now, number)).fetchone()
        tokens, micros = tokens - row[0], micros - row[1]
    return Amount(tokens, micros)


def _total_of(work: Transaction, account: str) -> Amount:
    """Return an account's total, if its row and its last note agree. Raises TamperedError."""
    known = work.totals.get(account)
    if known is None:
        row = work.db.execute(_TOTAL, (account,)).fetchone()
        known = work.totals[account] = agreed_total(account, row, work.last(spent_from(account)))
    return known
