"""Budgets: what a world has spent, and what requests under way may still cost.

Each change is a note in the world's chain; the tables are caches of the notes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence

from artificer.errors import BudgetError, TamperedError
from artificer.ports import Amount, Correction, Reservation, Settlement, Spending, Spent
from artificer.storage.notes import BudgetCorrected, BudgetReserved, BudgetSettled, spent_from
from artificer.storage.reader import Reader
from artificer.storage.transaction import Transaction
from artificer.storage.writer import Writer

MOST = 2**53 - 1
"""A total that is not counted further, whatever a provider reports: sums stay
what SQLite and canonical JSON can hold."""

Change = BudgetReserved | BudgetSettled | BudgetCorrected

TotalOf = Callable[[str], Amount]
"""What an account has spent."""

ReservedOf = Callable[[str, int, Collection[int]], Amount]
"""What is reserved from an account at a time, without the reservations of some numbers."""


def changes_of(
    spending: Spending, total_of: TotalOf, reserved_of: ReservedOf
) -> list[BudgetReserved | BudgetSettled]:
    """Return the notes of what is settled and reserved, in order.

    Raises:
        BudgetError: a limit does not hold its reservation.
    """
    changes: list[BudgetReserved | BudgetSettled] = []
    totals: dict[str, Amount] = {}
    settled: dict[str, list[int]] = {}
    added: dict[str, Amount] = {}
    for settlement in spending.settlements:
        account = settlement.account
        before = totals[account] if account in totals else total_of(account)
        totals[account] = bounded(before + bounded(settlement.cost))
        settled.setdefault(account, []).append(settlement.number)
        changes.append(_settled(settlement, totals[account]))
    for wanted in spending.reservations:
        account, need = wanted.account, bounded(wanted.need)
        total = totals[account] if account in totals else total_of(account)
        reserved = reserved_of(account, wanted.at, settled.get(account, ()))
        added[account] = added.get(account, Amount()) + need
        if not wanted.limit.holds(total + reserved + added[account]):
            raise BudgetError(f"The budget {account} does not hold this reservation.")
        changes.append(_reserved(wanted, need))
    return changes


def corrected(account: str, total: Amount, correction: Correction) -> BudgetCorrected:
    """Return the note of a correction, with the total after it."""
    return BudgetCorrected(
        account=account,
        tokens=total.tokens,
        micros=total.micros,
        by=correction.by,
        reason=correction.reason,
        at=correction.at,
    )


def bounded(amount: Amount) -> Amount:
    """Return an amount, or the largest that is counted."""
    return Amount(min(amount.tokens, MOST), min(amount.micros, MOST))


def _settled(settlement: Settlement, total: Amount) -> BudgetSettled:
    return BudgetSettled(
        account=settlement.account,
        reservation=str(settlement.number),
        tokens=total.tokens,
        micros=total.micros,
    )


def _reserved(wanted: Reservation, need: Amount) -> BudgetReserved:
    return BudgetReserved(
        account=wanted.account,
        reservation=str(wanted.number),
        tokens=need.tokens,
        micros=need.micros,
        at=wanted.at,
        until=wanted.until,
    )


class MemoryBudget:
    """The budgets of a world that lives as long as its process.

    ``noted`` is called with each change before it is made.
    """

    def __init__(self, noted: Callable[[Change], object] = lambda _: None) -> None:
        self._totals: dict[str, Amount] = {}
        self._reserved: dict[tuple[str, int], tuple[Amount, int]] = {}
        self._noted = noted

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Reserve all of these amounts. Raises BudgetError."""
        self.change(self.changes(Spending(reservations=reservations)))

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have really cost."""
        self.change(self.changes(Spending(settlements)))

    async def spent(self, account: str, now: int) -> Spent:
        """Return what an account has spent, and what is reserved from it."""
        return Spent(self._total_of(account), self._reserved_of(account, now, ()))

    async def correct(self, account: str, correction: Correction) -> Amount:
        """Put an account's total right, and return it."""
        total = correction.of(self._total_of(account))
        self.change([corrected(account, total, correction)])
        return total

    def changes(self, spending: Spending) -> list[BudgetReserved | BudgetSettled]:
        """Return the notes of changes that can be made. Raises BudgetError."""
        return changes_of(spending, self._total_of, self._reserved_of)

    def change(self, changes: Sequence[Change]) -> None:
        """Make changes: part of an append."""
        for note in changes:
            self._noted(note)
            amount = Amount(note.tokens, note.micros)
            if isinstance(note, BudgetReserved):
                self._reserved[note.account, int(note.reservation)] = (amount, note.until)
                self._reserved = {k: v for k, v in self._reserved.items() if v[1] > note.at}
                continue
            if isinstance(note, BudgetSettled):
                self._reserved.pop((note.account, int(note.reservation)), None)
            self._totals[note.account] = amount

    def rows(self) -> list[tuple[str, int, int, int, int | None]]:
        """Every account's total (its row 0) and every reservation, as the table has them."""
        totals = [(of, 0, spent.tokens, spent.micros, None) for of, spent in self._totals.items()]
        held = [
            (*key, held.tokens, held.micros, end) for key, (held, end) in self._reserved.items()
        ]
        return [*totals, *held]

    def _total_of(self, account: str) -> Amount:
        return self._totals.get(account, Amount())

    def _reserved_of(self, account: str, now: int, without: Collection[int]) -> Amount:
        found = Amount()
        for (of, number), (amount, until) in self._reserved.items():
            if of == account and until > now and number not in without:
                found += amount
        return found


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
        """Put an account's total right, and return it."""
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
        if isinstance(note, BudgetSettled):
            row = (note.account, int(note.reservation))
            db.execute("DELETE FROM spending WHERE day = ? AND n = ?", row)
        db.execute(_SET_TOTAL, (note.account, note.tokens, note.micros))


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
    """Return an account's total, if its row and its last note agree."""
    row, note = work.db.execute(_TOTAL, (account,)).fetchone(), work.last(spent_from(account))
    noted = (
        (note.tokens, note.micros) if isinstance(note, BudgetSettled | BudgetCorrected) else None
    )
    if row != noted:
        raise TamperedError(
            f"What {account} has cost is not what the journal says of it.",
            hint="Run `artificer verify` to see what differs; `artificer fsck --repair` puts the "
            "table back as the journal says.",
        )
    return Amount(*noted) if noted else Amount()
