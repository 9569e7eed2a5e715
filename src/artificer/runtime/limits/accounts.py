"""The accounts that requests are charged to: of days, builds and trees of runs (invariant 7).

What a request may cost is reserved before it, and settled with its reply. What has no limit is only
counted.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from msgspec import Struct, field

from artificer.core.budget import max_price
from artificer.core.price import Price
from artificer.core.spec import RunSpec
from artificer.ports import Amount, Reservation, Settlement, SpendingLimit, Spent
from artificer.system.utc import utc_day
from artificer.values.model import FailureCode, ModelFailure, ModelReply

EXPIRES_MS = 3_600_000
"""Milliseconds after which a reservation that nobody has settled counts no longer."""

BEGUN: frozenset[FailureCode] = frozenset(
    {"invalid_call", "malformed_response", "out_of_time", "stream_truncated", "timeout"}
)
"""Failures of a request that had started to be answered, or may have: nobody knows what it cost."""


class RequestSize(Struct, frozen=True, gc=False):
    """The tokens that a request sends, by our estimate, and those of its longest reply."""

    tokens: int
    reply: int


class UnderWay(Struct):
    """The requests of this process that have reserved something.

    They reserve more than they will need. A request of a build or of a tree of runs that they leave
    too little for is not refused: it waits until one of them has ended.
    """

    count: int = 0
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def ended(self) -> asyncio.Event:
        """Return an event that is set when the next one ends."""
        return self._ended

    def end(self) -> None:
        """Count one less, and wake the requests that wait."""
        self.count -= 1
        self._ended.set()
        self._ended = asyncio.Event()


class Account(Struct, frozen=True, weakref=True):
    """An account of the budget with its limit: a day of the world, a ``build`` or a ``tree``.

    A ``tree`` is a run with its children, and theirs: its id.
    ``price_of`` returns the price of a ``provider/model``, for runs that have recorded none.
    """

    limit: SpendingLimit
    price_of: Callable[[str], Price | None]
    build: str = ""
    tree: str = ""
    under_way: UnderWay = field(default_factory=UnderWay)

    def name(self, now: int) -> str:
        """Return the account's name at a time."""
        if self.tree:
            return f"run:{self.tree}"
        return f"build:{self.build}" if self.build else utc_day(now)

    @property
    def lasts(self) -> bool:
        """Whether it is there for some runs, and has no end as a day has."""
        return bool(self.build or self.tree)

    def charge(self, spec: RunSpec, size: RequestSize, now: int) -> Charge | ModelFailure:
        """Return what a request may cost; a failure where nobody knows."""
        model = spec.full_name
        price = spec.price or self.price_of(model)
        if self.limit.micros is not None and price is None:
            return exhausted(
                f"The price of {model!r} is not known, and [budget] limits dollars: "
                f'give it in artificer.toml, as [prices."{model}"].'
            )
        micros = 0 if price is None else max_price(price, size.tokens, size.reply)
        reserves = self.limit != SpendingLimit()
        number = secrets.randbits(60) + 1 if reserves else 0
        need = Amount(size.tokens + size.reply, micros)
        return Charge(self, self.name(now), number, need, price, now)

    def shortage(self, spent: Spent, need: Amount) -> str:
        """Return why the limit does not hold an amount; empty when it does."""
        whose = f"run {self.tree} and its children" if self.tree else "this build"
        whose, limit, reasons = whose if self.lasts else "a day", self.limit, []
        for allowed, write, settled, reserved, needed in (
            (limit.tokens, _tokens, spent.settled.tokens, spent.reserved.tokens, need.tokens),
            (limit.micros, _dollars, spent.settled.micros, spent.reserved.micros, need.micros),
        ):
            if allowed is not None and settled + reserved + needed > allowed:
                reasons.append(
                    f"Of {write(allowed)} for {whose} {write(settled)} are spent and "
                    f"{write(reserved)} reserved; this request may take {write(needed)}."
                )
        if reasons and not self.lasts:
            reasons.append("A day ends at midnight UTC.")
        elif reasons and spent.reserved != Amount():
            reasons.append("What is reserved and not used is free again within an hour.")
        return " ".join(reasons)

    def refusal(self, spent: Spent, need: Amount, why: str) -> ModelFailure:
        """Return the failure of a request that the account does not hold.

        Where it never will, because the runs of a tree have used what they may, it is their limit.
        """
        total = spent.settled + need
        if not self.tree or self.limit.holds(total):
            return exhausted(why)
        tokens = SpendingLimit(tokens=self.limit.tokens)
        code: FailureCode = "cost_limit" if tokens.holds(total) else "token_limit"
        return ModelFailure(code=code, message=why, attempts=0)


class Charge(Struct, frozen=True, gc=False):
    """The most that one request may cost an account. ``number`` is 0 if nothing is reserved.

    ``price`` is that of its model.
    """

    account: Account
    name: str
    number: int
    need: Amount
    price: Price | None
    at: int

    def reservation(self) -> Reservation:
        """Return the reservation to be made."""
        limit, until = self.account.limit, self.at + EXPIRES_MS
        return Reservation(self.name, self.number, self.need, limit, self.at, until)

    def settlement(self, reply: ModelReply | ModelFailure) -> Settlement | None:
        """Return what the request has cost; None if that is nothing, or not known.

        A request that was refused has cost nothing, and gives back what it had reserved. Where
        nobody knows, the reservation stays until it expires.
        """
        cost = Amount()
        if isinstance(reply, ModelReply):
            usage = reply.usage
            micros = 0 if self.price is None else self.price.micros(usage)
            cost = Amount(usage.input_tokens + usage.output_tokens, micros)
        elif reply.code in BEGUN or not self.number:
            return None
        return Settlement(self.name, self.number, cost)


class Charges(Struct, frozen=True, gc=False):
    """The most that one request may cost: one charge for each account.

    What was reserved ends by `release`.
    """

    charges: tuple[Charge, ...] = ()

    def reservations(self) -> list[Reservation]:
        """Return the reservations to be made."""
        return [charge.reservation() for charge in self.charges if charge.number]

    def reserved(self) -> None:
        """Count the request as in progress: its reservations have been made."""
        for charge in self.charges:
            charge.account.under_way.count += bool(charge.number)

    def settlements(self, reply: ModelReply | ModelFailure) -> list[Settlement]:
        """Return what is to be counted when the request has ended."""
        return [s for charge in self.charges if (s := charge.settlement(reply)) is not None]

    def unused(self) -> list[Settlement]:
        """Return what gives back all reservations, of a request that has cost nothing."""
        return [Settlement(one.name, one.number, Amount()) for one in self.charges if one.number]

    def release(self) -> None:
        """Count the request as ended, whatever became of it."""
        for charge in self.charges:
            if charge.number:
                charge.account.under_way.end()


NO_CHARGES = Charges()


def exhausted(why: str) -> ModelFailure:
    """Return the failure of a request that an account does not hold."""
    return ModelFailure(code="budget", message=why, attempts=0)


def _tokens(value: int) -> str:
    return f"{value:,} tokens"


def _dollars(value: int) -> str:
    return f"${value / 1_000_000:.4f}"
