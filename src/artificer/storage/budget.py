"""Changes of budgets, as notes in the world's chain: the same for every storage.

The tables are caches of the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from artificer.errors import BudgetError
from artificer.ports import Amount, Correction, Reservation, Settlement, Spending
from artificer.storage.notes import BudgetCorrected, BudgetReserved, BudgetSettled

LARGEST = 2**53 - 1
"""A total that is not counted further, whatever a provider reports: sums stay
what SQLite and canonical JSON can hold."""

Change = BudgetReserved | BudgetSettled | BudgetCorrected

TotalOf = Callable[[str], Amount]
"""Return the amount that an account has spent."""

ReservedOf = Callable[[str, int, Collection[int]], Amount]
"""Return an account's reservations at a time, except those with some numbers."""


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
        changes.append(settled_note(settlement, totals[account]))
    for wanted in spending.reservations:
        account, need = wanted.account, bounded(wanted.need)
        total = totals[account] if account in totals else total_of(account)
        reserved = reserved_of(account, wanted.at, settled.get(account, ()))
        added[account] = added.get(account, Amount()) + need
        if not wanted.limit.holds(total + reserved + added[account]):
            raise BudgetError(f"The budget {account} does not have this reservation.")
        changes.append(reserved_note(wanted, need))
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
    return Amount(min(amount.tokens, LARGEST), min(amount.micros, LARGEST))


def settled_note(settlement: Settlement, total: Amount) -> BudgetSettled:
    """Return the note of a settlement, with the account's total after it."""
    return BudgetSettled(
        account=settlement.account,
        reservation=str(settlement.number),
        tokens=total.tokens,
        micros=total.micros,
    )


def reserved_note(wanted: Reservation, need: Amount) -> BudgetReserved:
    """Return the note of a reservation; ``need`` is what of it is counted."""
    return BudgetReserved(
        account=wanted.account,
        reservation=str(wanted.number),
        tokens=need.tokens,
        micros=need.micros,
        at=wanted.at,
        until=wanted.until,
    )
