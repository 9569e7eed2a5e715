"""What a day, or a build, may cost: reserved before each request, settled after (invariant 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from artificer.core.budget import most_for
from artificer.core.price import Price
from artificer.core.spec import RunSpec
from artificer.ports import Allowed, Amount, Purse, Spent
from artificer.values.model import FailureCode, ModelFailure, ModelReply

EXPIRES_MS = 3_600_000
"""Milliseconds after which a reservation that nobody has settled counts no longer."""

BEGUN: frozenset[FailureCode] = frozenset(
    {"invalid_call", "malformed_response", "out_of_time", "stream_truncated", "timeout"}
)
"""Failures of a request that had begun to be answered, or may have: nobody knows what it cost."""


def day_of(now: int) -> str:
    """The day of a time, in UTC."""
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()


@dataclass(frozen=True)
class Reservation:
    """What one request may cost, taken off its account. ``price`` is that of its model."""

    account: str
    number: int
    price: Price | None = None


@dataclass(frozen=True)
class Left:
    """A day's budget, and what has been taken of it."""

    day: str
    most: Allowed
    spent: Spent


@dataclass
class UnderWay:
    """The requests of this process that have reserved something, and whoever waits for their end.

    They reserve more than they will need. What that leaves too little for in a build is not
    refused, for it would have to be resumed: it is asked for when they have ended.
    """

    count: int = 0
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def ended(self) -> asyncio.Event:
        """What is set when the next one ends."""
        return self._ended

    def end(self) -> None:
        """One has ended."""
        self.count -= 1
        self._ended.set()
        self._ended = asyncio.Event()


@dataclass(frozen=True)
class Allowance:
    """A budget of a day of the world, or of a ``build``. Runs of all processes spend from the same
    purse.

    ``price_of`` a ``provider/model`` is asked for runs that have recorded no price.
    """

    purse: Purse
    most: Allowed
    price_of: Callable[[str], Price | None]
    build: str = ""
    under_way: UnderWay = field(default_factory=UnderWay)

    def account(self, now: int) -> str:
        """Under what is spent is counted."""
        return f"build:{self.build}" if self.build else day_of(now)

    async def reserve(
        self, now: int, tokens: int, reply: int, spec: RunSpec
    ) -> Reservation | ModelFailure:
        """Reserve what a request may cost, or say why it cannot be made.

        ``tokens`` is what it sends, by our estimate, and ``reply`` the longest reply. Whoever gets
        a reservation says :meth:`release` when the request has ended, however it did.
        """
        model = f"{spec.provider}/{spec.model}"
        price = spec.price or self.price_of(model)
        if self.most.micros is not None and price is None:
            return _exhausted(
                f"The price of {model!r} is not known, and [budget] limits dollars: "
                f'give it in artificer.toml, as [prices."{model}"].'
            )
        micros = 0 if price is None else most_for(price, tokens, reply)
        need, account = Amount(tokens + reply, micros), self.account(now)
        while True:
            ended, until = self.under_way.ended(), now + EXPIRES_MS
            number = await self.purse.reserve(account, need, self.most, now=now, until=until)
            if number is not None:
                self.under_way.count += 1
                return Reservation(account, number, price)
            spent = await self.purse.spent(account, now)
            others_end = self.under_way.count or ended.is_set()
            if not (self.build and others_end and self.most.holds(spent.settled + need)):
                return _exhausted(self._why(spent, need))
            await ended.wait()

    def release(self) -> None:
        """A request that had reserved something has ended."""
        self.under_way.end()

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
        await self.purse.settle(reserved.account, reserved.number, true)

    def _why(self, spent: Spent, need: Amount) -> str:
        what, told, most = "this build" if self.build else "a day", [], self.most
        for limit, write, settled, reserved, needed in (
            (most.tokens, _tokens, spent.settled.tokens, spent.reserved.tokens, need.tokens),
            (most.micros, _dollars, spent.settled.micros, spent.reserved.micros, need.micros),
        ):
            if limit is not None and settled + reserved + needed > limit:
                told.append(
                    f"Of {write(limit)} for {what} {write(settled)} are spent and "
                    f"{write(reserved)} reserved; this request may take {write(needed)}."
                )
        if not self.build:
            told.append("A day ends at midnight UTC.")
        elif spent.reserved != Amount():
            told.append("What is reserved and not used is free again within an hour.")
        return " ".join(told)


def _exhausted(why: str) -> ModelFailure:
    return ModelFailure(code="budget", message=why, attempts=0)


def _tokens(value: int) -> str:
    return f"{value:,} tokens"


def _dollars(value: int) -> str:
    return f"${value / 1_000_000:.4f}"
