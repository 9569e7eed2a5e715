"""Budgets of days, builds and trees of runs (invariant 7).

What a request may cost is reserved before it, and settled with its reply.

A reservation is part of the commit that records the request's intent, and its settlement part of
the commit that records the reply. What has no limit is only counted.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from artificer.core.budget import max_price
from artificer.core.price import Price
from artificer.core.spec import RunSpec
from artificer.errors import BudgetError
from artificer.ports import Amount, Budget, Reservation, Settlement, SpendingLimit, Spent
from artificer.runtime.day_budget import day_of
from artificer.values.model import FailureCode, ModelFailure, ModelReply

EXPIRES_MS = 3_600_000
"""Milliseconds after which a reservation that nobody has settled counts no longer."""

OTHERS_S, OTHERS_MS = 0.5, EXPIRES_MS + 60_000
"""How often to look, and for how long at most, whether other processes have left enough of the
account of a tree. What they have reserved and not used is free before that."""

BEGUN: frozenset[FailureCode] = frozenset(
    {"invalid_call", "malformed_response", "out_of_time", "stream_truncated", "timeout"}
)
"""Failures of a request that had begun to be answered, or may have: nobody knows what it cost."""


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
        return f"build:{self.build}" if self.build else day_of(now)

    @property
    def lasts(self) -> bool:
        """Whether it is there for some runs, and has no end as a day has."""
        return bool(self.build or self.tree)

    def charge(self, spec: RunSpec, size: RequestSize, now: int) -> Charge | ModelFailure:
        """Return what a request may cost; a failure where nobody knows."""
        model = f"{spec.provider}/{spec.model}"
        price = spec.price or self.price_of(model)
        if self.limit.micros is not None and price is None:
            return _exhausted(
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
            return _exhausted(why)
        tokens = SpendingLimit(tokens=self.limit.tokens)
        code: FailureCode = "cost_limit" if tokens.holds(total) else "token_limit"
        return ModelFailure(code=code, message=why, attempts=0)


class Charge(Struct, frozen=True, gc=False):
    """The most that one request may cost an account. ``number`` is 0 where nothing is reserved.

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
        """Return what the request has cost; None where that is nothing, or not known.

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
        """Count the request as under way: its reservations have been made."""
        for charge in self.charges:
            charge.account.under_way.count += bool(charge.number)

    def settlements(self, reply: ModelReply | ModelFailure) -> list[Settlement]:
        """Return what is to be counted when the request has ended."""
        return [s for charge in self.charges if (s := charge.settlement(reply)) is not None]

    def release(self) -> None:
        """Count the request as ended, whatever became of it."""
        for charge in self.charges:
            if charge.number:
                charge.account.under_way.end()


NO_CHARGES = Charges()


class Budgets(Struct, frozen=True):
    """All accounts that a request is charged to. Each of them has to hold it."""

    budget: Budget | None = None
    accounts: tuple[Account, ...] = ()

    def with_account(self, account: Account) -> Budgets:
        """Return these and one more."""
        return Budgets(self.budget, (*self.accounts, account))

    def charges(self, spec: RunSpec, size: RequestSize, now: int) -> Charges | ModelFailure:
        """Return what a request may cost; a failure when its price is not known."""
        charges = []
        for account in self.accounts:
            charge = account.charge(spec, size, now)
            if isinstance(charge, ModelFailure):
                return charge
            charges.append(charge)
        return Charges(tuple(charges))

    async def reserve(
        self, spec: RunSpec, size: RequestSize, now: int, left_ms: int = OTHERS_MS
    ) -> Charges | ModelFailure:
        """Reserve what a request may cost in a commit of its own, or return why it is not made.

        For a request whose reservation was refused with its intent, or that a crash interrupted.
        Of a run that workers execute, it waits for what others of its tree have reserved elsewhere,
        within the time that the run has left.
        """
        began = time.monotonic()
        while True:
            waited_ms = int((time.monotonic() - began) * 1000)
            charges = self.charges(spec, size, now + waited_ms)
            if isinstance(charges, ModelFailure) or self.budget is None:
                return charges
            ends = [charge.account.under_way.ended() for charge in charges.charges]
            try:
                if wanted := charges.reservations():
                    await self.budget.reserve(wanted)
            except BudgetError as error:
                others = spec.submission is not None and waited_ms < min(OTHERS_MS, left_ms)
                refusal = await _until_free(
                    self.budget, charges, ends, error.message, others=others
                )
                if refusal is not None:
                    return refusal
            else:
                charges.reserved()
                return charges

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have cost in a commit of its own. Raises OperatorError."""
        if settlements and self.budget is not None:
            await self.budget.settle(settlements)


NO_BUDGETS = Budgets()


async def _until_free(
    budget: Budget, charges: Charges, ends: Sequence[asyncio.Event], refused: str, *, others: bool
) -> ModelFailure | None:
    """Wait until the accounts may hold what they have refused, or return why they will not.

    With ``others`` also for requests of other processes, which end, or expire.
    """
    for charge, ended in zip(charges.charges, ends, strict=True):
        account, need = charge.account, charge.need
        spent = await budget.spent(charge.name, charge.at)
        why = account.shortage(spent, need)
        if why and _may_wait(charge, ended, spent):
            await ended.wait()
            return None
        if why and others and account.tree and account.limit.holds(spent.settled + need):
            await asyncio.sleep(OTHERS_S)
            return None
        if why:
            return account.refusal(spent, need, why)
    if any(ended.is_set() for ended in ends):
        return None
    busy = _ending(charges, ends)
    if busy is not None:
        await busy.wait()
    elif others and any(charge.account.tree for charge in charges.charges):
        await asyncio.sleep(OTHERS_S)  # another process has just ended what was in the way
    else:
        return _exhausted(refused)
    return None


def _ending(charges: Charges, ends: Sequence[asyncio.Event]) -> asyncio.Event | None:
    """Return the event of a request that has just been settled here, and is about to end."""
    pairs = zip(charges.charges, ends, strict=True)
    return next((end for charge, end in pairs if charge.account.under_way.count), None)


def _may_wait(charge: Charge, ended: asyncio.Event, spent: Spent) -> bool:
    """Whether there will be enough when the requests under way have ended."""
    account = charge.account
    others_end = account.under_way.count > 0 or ended.is_set()
    return account.lasts and others_end and account.limit.holds(spent.settled + charge.need)


def _exhausted(why: str) -> ModelFailure:
    return ModelFailure(code="budget", message=why, attempts=0)


def _tokens(value: int) -> str:
    return f"{value:,} tokens"


def _dollars(value: int) -> str:
    return f"${value / 1_000_000:.4f}"
