"""The guard that agents of other libraries share, under the key ``run``.

They have no store of their own. As docs/guides/adopt.md says, the program is started again with the
same key, and makes its calls as before; what it asks its model is not recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from outside import DamagedError, Outside, WaitingError

import artificer
from artificer.errors import NotFoundError, TamperedError, WaitingCallError

ASK = artificer.Policy(rules=(artificer.Rule(decision="ask", tool="charge"),))

Clerk = Callable[[Outside, Any], Awaitable[None]]
"""Runs an agent of a library with the guarded tools, to its end."""


async def drive(outside: Outside, clerk: Clerk) -> None:
    """Run the agent under the guard: each process begins anew, with the same key."""
    config = artificer.Config(home=outside.state, project="bench")
    policy = ASK if outside.approval else None
    try:
        async with artificer.World.open(config) as world:
            if outside.plan.approve:
                await approve(world)
            async with world.guard([charging(outside)], key="run", policy=policy) as guarded:
                await clerk(outside, guarded)
    except TamperedError as error:
        raise DamagedError from error
    except Exception as error:
        if any(isinstance(cause, WaitingCallError) for cause in causes(error)):
            raise WaitingError from error
        raise


def charging(outside: Outside) -> Any:
    """The tool of the trial, which may happen once."""

    async def here(order: str) -> str:
        return await outside.charge(order)

    def apart(order: str) -> str:
        return asyncio.run(outside.charge(order))

    def happened(order: str) -> str | bool:
        return f"charged {order}" if outside.has_charged(order) else False

    options: dict[str, Any] = {"probe": happened} if outside.probe else {}
    return artificer.tool(
        name="charge", description="Charge for an order.", effect="once", **options
    )(apart if outside.apart else here)


async def approve(world: artificer.World) -> None:
    """Say yes to what waits, as a person would."""
    try:
        questions = (await world.get("run")).questions
    except NotFoundError:
        return
    for question in questions:
        await world.send("run", artificer.AnswerCall(call=question.digest, approved=True))


def causes(error: BaseException | None) -> list[BaseException]:
    """An error and what it came from: libraries wrap the errors of tools."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        if isinstance(error, BaseExceptionGroup):
            found += [cause for one in error.exceptions for cause in causes(one)]
        error = error.__cause__ or error.__context__
    return found
