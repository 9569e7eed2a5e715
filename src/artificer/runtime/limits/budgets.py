"""Reserving what requests may cost, from budgets that several runs and processes share.

A reservation is part of the commit that records the request's intent, and its settlement part of
the commit that records the reply. One that was refused there is waited for here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import Any

from msgspec import Struct

from artificer.core.spec import RunSpec
from artificer.errors import BudgetError, OperatorError
from artificer.ports import Budget, Settlement, Spent
from artificer.runtime.effects_log import log
from artificer.runtime.limits.accounts import (
    EXPIRES_MS,
    Account,
    Charge,
    Charges,
    RequestSize,
    exhausted,
)
from artificer.system.tasks import checkpoint, finished, shielded
from artificer.values.model import ModelFailure

OTHERS_S, OTHERS_MS = 0.5, EXPIRES_MS + 60_000
"""How often to look, and for how long at most, whether other processes have left enough of the
account of a tree. What they have reserved and not used is free before that."""


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
        """Reserve what a request may cost in its own commit, or return why it is not made.

        For a request whose reservation was refused with its intent, or that a crash interrupted.
        It waits for what others of its tree have reserved, also elsewhere if workers execute the
        run, within the time that the run has left.
        """
        began = time.monotonic()
        while True:
            waited_ms = int((time.monotonic() - began) * 1000)
            charges = self.charges(spec, size, now + waited_ms)
            if isinstance(charges, ModelFailure) or self.budget is None:
                return charges
            ends = [charge.account.under_way.ended() for charge in charges.charges]
            try:
                await self._reserve(self.budget, charges)
            except BudgetError as error:
                others = spec.submission is not None and waited_ms < min(OTHERS_MS, left_ms)
                free = _until_free(self.budget, charges, ends, error.message, others=others)
                refusal = await _within(left_ms - waited_ms, free, error.message)
                if refusal is not None:
                    return refusal
            else:
                return charges

    async def _reserve(self, budget: Budget, charges: Charges) -> None:
        """Reserve, and count the request as in progress. Raises BudgetError.

        A storage reserves to the end though the task is cancelled: what it has reserved then is
        given back.
        """
        if wanted := charges.reservations():
            await finished(budget.reserve(wanted))
        charges.reserved()
        try:
            await checkpoint()
        except asyncio.CancelledError:
            await shielded(self.give_back((charges,)))
            raise

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have cost in its own commit. Raises OperatorError."""
        if settlements and self.budget is not None:
            await self.budget.settle(settlements)

    async def give_back(self, unused: Sequence[Charges]) -> None:
        """Give back what was reserved for requests that cost nothing, in its own commit.

        Where that cannot be written it expires.
        """
        try:
            await self.settle([s for charges in unused for s in charges.unused()])
        except OperatorError as error:
            log.warning("what was reserved for no request expires: %s", error.message)
        for charges in unused:
            charges.release()


NO_BUDGETS = Budgets()


async def _within(
    left_ms: int, free: Coroutine[Any, Any, ModelFailure | None], refused: str
) -> ModelFailure | None:
    """Wait within the time that a run has left, or return what was refused."""
    try:
        async with asyncio.timeout(left_ms / 1000):
            return await free
    except TimeoutError:
        return exhausted(refused)


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
        return exhausted(refused)
    return None


def _ending(charges: Charges, ends: Sequence[asyncio.Event]) -> asyncio.Event | None:
    """Return the event of a request that has just been settled here, and is about to end."""
    pairs = zip(charges.charges, ends, strict=True)
    return next((end for charge, end in pairs if charge.account.under_way.count), None)


def _may_wait(charge: Charge, ended: asyncio.Event, spent: Spent) -> bool:
    """Whether there will be enough when the requests in progress have ended."""
    account = charge.account
    others_end = account.under_way.count > 0 or ended.is_set()
    return account.lasts and others_end and account.limit.holds(spent.settled + charge.need)
