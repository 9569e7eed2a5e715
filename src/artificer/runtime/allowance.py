"""What a world may spend in a day: reserved before each request, settled after it (invariant 7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from artificer.core.budget import most_for
from artificer.core.price import Price
from artificer.ports import Allowed, Amount, Purse, Spent
from artificer.values.model import ModelFailure, ModelReply

EXPIRES_MS = 3_600_000
"""Milliseconds after which a reservation that nobody has settled counts no longer."""


def day_of(now: int) -> str:
    """The day of a time, in UTC."""
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()


@dataclass(frozen=True)
class Reservation:
    """What one request may cost, taken off its day."""

    day: str
    number: int


@dataclass(frozen=True)
class Left:
    """A day's budget, and what has been taken of it."""

    day: str
    most: Allowed
    spent: Spent


@dataclass(frozen=True)
class Allowance:
    """A world's budget for a day. Runs of all processes spend from the same purse."""

    purse: Purse
    most: Allowed

    async def reserve(
        self, now: int, tokens: int, reply: int, price: Price | None
    ) -> Reservation | ModelFailure:
        """Reserve what a request may cost, or say why it cannot be made.

        ``tokens`` is what it sends, by our estimate, and ``reply`` the longest reply.
        """
        if self.most.micros is not None and price is None:
            return _exhausted("The price of the model is not known, and [budget] limits dollars.")
        micros = 0 if price is None else most_for(price, tokens, reply)
        need, day = Amount(tokens + reply, micros), day_of(now)
        number = await self.purse.reserve(day, need, self.most, now=now, until=now + EXPIRES_MS)
        if number is not None:
            return Reservation(day, number)
        return _exhausted(_why(await self.purse.spent(day, now), need, self.most))

    async def left(self, now: int) -> Left:
        """How the day stands."""
        day = day_of(now)
        return Left(day, self.most, await self.purse.spent(day, now))

    async def settle(
        self, reserved: Reservation, reply: ModelReply | ModelFailure, price: Price | None
    ) -> None:
        """Count what the request has cost. One that failed has cost nothing that is known."""
        true = Amount()
        if isinstance(reply, ModelReply):
            tokens = reply.usage.input_tokens + reply.usage.output_tokens
            true = Amount(tokens, 0 if price is None else price.micros(reply.usage))
        await self.purse.settle(reserved.day, reserved.number, true)


def _exhausted(why: str) -> ModelFailure:
    return ModelFailure(code="budget", message=why, attempts=0)


def _why(spent: Spent, need: Amount, most: Allowed) -> str:
    told = []
    for limit, write, settled, reserved, needed in (
        (most.tokens, _tokens, spent.settled.tokens, spent.reserved.tokens, need.tokens),
        (most.micros, _dollars, spent.settled.micros, spent.reserved.micros, need.micros),
    ):
        if limit is not None and settled + reserved + needed > limit:
            told.append(
                f"Of {write(limit)} for a day {write(settled)} are spent and {write(reserved)} "
                f"reserved; this request may take {write(needed)}."
            )
    return " ".join([*told, "A day ends at midnight UTC."])


def _tokens(value: int) -> str:
    return f"{value:,} tokens"


def _dollars(value: int) -> str:
    return f"${value / 1_000_000:.4f}"
