"""A worker that ends when it is idle does not wait for runs that it cannot execute."""

from __future__ import annotations

import asyncio
import logging

import pytest

from artificer import Agent, World
from artificer.dispatch.left import LeftRuns
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.sweeper import SweepTimes
from artificer.dispatch.worker import Worker, WorkerOptions
from artificer.errors import OperatorError
from artificer.ports import AwaitsRuns, ExecuteSegment, Parked, RunOver
from artificer.testing import ScriptedProvider
from artificer.testing.dispatcher_suite import WITHIN_S

pytestmark = pytest.mark.req("worker-until-idle")

REFUSED = Parked(60, refused=True)
CHAT = Agent("scripted/m", kind="chat")
OPTIONS = WorkerOptions(until_idle=True, sweep=SweepTimes(new_s=0.01, all_s=0.05))


async def test_it_says_which_are_left_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "artificer")
    world = World.in_memory(providers=[ScriptedProvider(["hello"])])
    left = await world.submit("Hi", CHAT, name="triage:agent")
    executed = await world.submit("Hi", CHAT)
    async with asyncio.timeout(WITHIN_S):
        await Worker(world, LocalDispatcher(), options=OPTIONS).run()
    assert (await world.get(executed)).status == "completed"
    assert (await world.get(left)).status == "open"
    assert f"runs are left that cannot be executed here: {left}" in caplog.text
    assert "The run needs the agent 'triage:agent', which this worker does not have." in caplog.text


async def test_nothing_is_said_where_nothing_is_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "artificer")
    world = World.in_memory(providers=[ScriptedProvider(["hello"])])
    await world.submit("Hi", CHAT)
    async with asyncio.timeout(WITHIN_S):
        await Worker(world, LocalDispatcher(), options=OPTIONS).run()
    assert caplog.text == ""


async def test_a_run_that_waits_for_such_a_run_is_left_too() -> None:
    world = World.in_memory(providers=[ScriptedProvider(["hello"])])
    top, boss, child, other = [await world.submit("Hi", CHAT) for _ in range(4)]
    left = LeftRuns()
    left.ended(top, AwaitsRuns((boss,)))
    left.ended(boss, AwaitsRuns((child, other)))
    left.ended(child, REFUSED)
    assert await left.open_ones(world.storage, ()) == [child]
    assert await left.open_ones(world.storage, {other}) == sorted((top, boss, child, other))
    left.ended(child, RunOver())
    assert await left.open_ones(world.storage, {other}) == [other]


async def test_one_that_somebody_else_has_executed_is_not_left() -> None:
    world = World.in_memory(providers=[ScriptedProvider(["hello"])])
    run, left = await world.submit("Hi", CHAT), LeftRuns()
    left.ended(run, REFUSED)
    assert await left.open_ones(world.storage, {"pruned"}) == [run]
    await world.resume(run, CHAT)
    assert await left.open_ones(world.storage, ()) == []


class Leaving(LocalDispatcher):
    """A dispatcher that stops serving by itself, in one of two ways."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__()
        self.error = error

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Return, or raise."""
        if self.error is not None:
            raise self.error


@pytest.mark.req("dispatch-stopped")
@pytest.mark.parametrize("error", [None, asyncio.CancelledError()])
async def test_a_dispatcher_that_stops_by_itself_is_an_error(error: BaseException | None) -> None:
    async with World.in_memory() as world:
        with pytest.raises(OperatorError, match="stopped serving, although the worker was not"):
            await Worker(world, Leaving(error)).run()
