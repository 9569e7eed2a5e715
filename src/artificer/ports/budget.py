"""The seam to budgets: what is reserved before a request, and counted with its reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Amount(Struct, frozen=True, gc=False):
    """A cost: tokens, and micro-dollars where the price is known."""

    tokens: int = 0
    micros: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.micros + other.micros)


class SpendingLimit(Struct, frozen=True, gc=False):
    """The limit on spending from an account; None means no limit."""

    tokens: int | None = None
    micros: int | None = None

    def holds(self, amount: Amount) -> bool:
        """Whether an amount is within it."""
        pairs = ((self.tokens, amount.tokens), (self.micros, amount.micros))
        return all(limit is None or needed <= limit for limit, needed in pairs)


class Spent(Struct, frozen=True, gc=False):
    """An account: what has been spent, and what requests under way may still cost."""

    settled: Amount
    reserved: Amount


class Reservation(Struct, frozen=True, gc=False):
    """An amount to be reserved from an account, if ``limit`` then still holds all of it.

    ``number`` is chosen by the caller, and of no other reservation. What is not settled is free
    again at ``until``; ``at`` is the present time. Times are milliseconds since 1970-01-01 UTC.
    """

    account: str
    number: int
    need: Amount
    limit: SpendingLimit
    at: int
    until: int


class Settlement(Struct, frozen=True, gc=False):
    """The real cost of a request. It takes the place of its reservation, expired or not.

    ``number`` is 0 for a request that reserved nothing from this account.
    """

    account: str
    number: int
    cost: Amount


class Correction(Struct, frozen=True, gc=False):
    """An account's total as a person states it. None leaves tokens, or micro-dollars, as they are.

    ``at`` is the time, in milliseconds since 1970-01-01 UTC.
    """

    tokens: int | None
    micros: int | None
    by: str
    reason: str
    at: int

    def of(self, spent: Amount) -> Amount:
        """The total after it."""
        return Amount(
            spent.tokens if self.tokens is None else self.tokens,
            spent.micros if self.micros is None else self.micros,
        )


class Budget(Protocol):
    """The accounts of a world: days, builds, trees of runs.

    Processes spend from them at the same time.

    Reservations and settlements are mostly part of an append to the journal
    (`ports.Journal.append`); these methods make a commit of their own.
    """

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Reserve all of these amounts, durably: compare and add, in one step.

        Raises:
            BudgetError: a limit does not hold its reservation; nothing has changed.
        """

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have really cost, durably."""

    async def spent(self, account: str, now: int) -> Spent:
        """Return what an account has spent, and what is reserved from it."""

    async def correct(self, account: str, correction: Correction) -> Amount:
        """Put an account's total right, and return it."""
