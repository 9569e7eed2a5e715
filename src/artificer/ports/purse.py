"""The seam to what a world spends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Amount:
    """What something costs: tokens, and micro-dollars where the price is known."""

    tokens: int = 0
    micros: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.micros + other.micros)


@dataclass(frozen=True)
class Allowed:
    """The most that a day may cost; None is no limit."""

    tokens: int | None = None
    micros: int | None = None

    def holds(self, amount: Amount) -> bool:
        """Whether an amount is within it."""
        pairs = ((self.tokens, amount.tokens), (self.micros, amount.micros))
        return all(most is None or needed <= most for most, needed in pairs)


@dataclass(frozen=True)
class Spent:
    """What a day has cost, and what requests under way may still cost."""

    settled: Amount
    reserved: Amount


@dataclass(frozen=True)
class Correction:
    """A day's cost as a person states it. None leaves tokens, or micro-dollars, as they are."""

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


class Purse(Protocol):
    """What a world spends, day by day. Processes spend from it at the same time."""

    async def reserve(
        self, day: str, need: Amount, most: Allowed, *, now: int, until: int
    ) -> int | None:
        """Reserve an amount, durably, and return the number of the reservation.

        None, and nothing has changed, when the day would cost more than ``most``: compare and
        add, in one step. Nobody who dies keeps it for longer than ``until``.
        """

    async def settle(self, day: str, number: int, true: Amount) -> None:
        """Put what a request has really cost in the place of its reservation, expired or not."""

    async def spent(self, day: str, now: int) -> Spent:
        """What a day has cost, and what is reserved of it."""

    async def correct(self, day: str, correction: Correction) -> Amount:
        """Put what a day has cost right, and return its total after it."""
