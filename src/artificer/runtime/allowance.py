"""What a world may spend in a day: reserved before each request, settled after it (invariant 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from artificer.core.budget import most_for
from artificer.core.price import Price
from artificer.core.spec import RunSpec
from artificer.ports import Allowed, Amount, Purse, Spent
from artificer.values.model import FailureCode, ModelFailure, ModelReply

EXPIRES_MS = 3_600_000
"""Milliseconds after which a reservation that nobody has settled counts no longer."""

BEGUN: frozenset[FailureCode] = frozenset(
    {"malformed_response", "out_of_time", "stream_truncated", "timeout"}
)
"""Failures of a request that had begun to be answered, or may have: nobody knows what it cost."""


def day_of(now: int) -> str:
    """The day of a time, in UTC."""
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()


@dataclass(frozen=True)
class Reservation:
    """What one request may cost, taken off its day. ``price`` is that of its model."""

    day: str
    number: int
    price: Price | None = None


@dataclass(frozen=True)
class Left:
    """A day's budget, and what has been taken of it."""

    day: str
    most: Allowed
    spent: Spent


@dataclass(frozen=True)
class Allowance:
    """A world's budget for a day. Runs of all processes spend from the same purse.

    ``price_of`` a ``provider/model`` is asked for runs that have recorded no price.
    """

    purse: Purse
    most: Allowed
    price_of: Callable[[str], Price | None]

    async def reserve(
        self, now: int, tokens: int, reply: int, spec: RunSpec
    ) -> Reservation | ModelFailure:
        """Reserve what a request may cost, or say why it cannot be made.

        ``tokens`` is what it sends, by our estimate, and ``reply`` the longest reply.
        """
        model = f"{spec.provider}/{spec.model}"
        price = spec.price or self.price_of(model)
        if self.most.micros is not None and price is None:
            return _exhausted(
                f"The price of {model!r} is not known, and [budget] limits dollars: "
                f'give it in artificer.toml, as [prices."{model}"].'
            )
        micros = 0 if price is None else most_for(price, tokens, reply)
        need, day = Amount(tokens + reply, micros), day_of(now)
        number = await self.purse.reserve(day, need, self.most, now=now, until=now + EXPIRES_MS)
        if number is not None:
            return Reservation(day, number, price)
        return _exhausted(_why(await self.purse.spent(day, now), need, self.most))

    async def left(self, now: int) -> Left:
        """How the day stands."""
        day = day_of(now)
        return Left(day, self.most, await self.purse.spent(day, now))

    async def settle(self, reserved: Reservation, reply: ModelReply | ModelFailure) -> None:
        """Count what the request has cost.

        One that was refused has cost nothing. Where nobody knows, the reservation stays until it
        expires.
        """
        if isinstance(reply, ModelFailure) and reply.code in BEGUN:
            return
        true = Amount()
        if isinstance(reply, ModelReply):
            price, usage = reserved.price, reply.usage
            micros = 0 if price is None else price.micros(usage)
            true = Amount(usage.input_tokens + usage.output_tokens, micros)
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
