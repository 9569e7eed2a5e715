"""Budgets, in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from artificer.ports import Amount, Correction, Reservation, Settlement, Spending, Spent
from artificer.storage.budget import Change, changes_of, corrected
from artificer.storage.notes import BudgetReserved, BudgetSettled


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
        """Correct an account's total, and return it."""
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
