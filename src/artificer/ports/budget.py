"""The port to budgets: costs are reserved before a request, and counted with its reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Amount(Struct, frozen=True, gc=False):
    """A cost: tokens, and micro-dollars if the price is known."""

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
    """An account: what has been spent, and what requests in progress may still cost."""

    settled: Amount
    reserved: Amount


class Reservation(Struct, frozen=True, gc=False):
    """An amount to reserve from an account, if the total then stays within ``limit``.

    ``number`` is chosen by the caller and unique. A reservation that is not settled is released
    at ``until``; ``at`` is the current time. Times are milliseconds since 1970-01-01 UTC.
    """

    account: str
    number: int
    need: Amount
    limit: SpendingLimit
    at: int
    until: int


class Settlement(Struct, frozen=True, gc=False):
    """The real cost of a request. It replaces the reservation, even an expired one.

    ``number`` is 0 for a request that reserved nothing from this account.
    """

    account: str
    number: int
    cost: Amount


class Correction(Struct, frozen=True, gc=False):
    """An account's total as stated by a person. None leaves tokens or micro-dollars unchanged.

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
    (`ports.Journal.append`); these methods make their own commit.
    """

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Reserve all of these amounts, durably: compare and add, in one step.

        Raises:
            BudgetError: a limit does not hold its reservation; nothing has changed.
        """

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Record the real cost of requests, durably."""

    async def spent(self, account: str, now: int) -> Spent:
        """Return what an account has spent, and what is reserved from it."""

    async def correct(self, account: str, correction: Correction) -> Amount:
        """Correct an account's total, and return it."""
