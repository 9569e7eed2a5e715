"""Runs whose workers die of executing them: they are left alone in the end."""

from __future__ import annotations

import pytest
from children_suite import boss

from artificer import Agent, World, tool
from artificer.core.signals import Steer
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.segments import ELSEWHERE_S, Segments
from artificer.dispatch.sweeper import SweepTimes
from artificer.dispatch.worker import Worker, WorkerOptions
from artificer.ports import AwaitsRuns, Claim, Parked, RunOver
from artificer.runtime.falls import MAX_FALLS, delay_after, falls_of
from artificer.testing import ScriptedProvider, call, reply
from artificer.testing.rig import SteppingClock

NAME = "here:agent"
pytestmark = pytest.mark.req("falls")


async def nothing(run: str) -> None:
    """Wake no caller."""


class Deadly:
    """A world with a run whose tool ends whoever executes it, as long as it is ``deadly``.

    For the journal, that is a process which takes the run and is not heard of again.
    """

    def __init__(self) -> None:
        @tool(effect="pure")
        async def fill_memory() -> str:
            """Fill the memory."""
            if self.deadly:
                gone = Claim(f"gone-{self.clock.time}", None, lambda former: "")
                await self.world.storage.journal.acquire(self.run, gone)
            return "filled"

        self.deadly = True
        self.clock = SteppingClock()
        replies = [reply(call("fill_memory")), "done"]
        self.world = World.in_memory(providers=[ScriptedProvider(replies)], clock=self.clock)
        self.agent = Agent("scripted/m", kind="chat", tools=[fill_memory])
        self.run = ""
        self.segments = Segments(self.world, {NAME: self.agent}, nothing)

    async def until_left_alone(self) -> list[float]:
        """Execute it until nothing does any more; return how long it was left alone each time."""
        self.run = self.run or await self.world.submit("Hi", self.agent, name=NAME)
        waits = list[float]()
        while (end := await self.segments.execute(self.run, "lost")) != Parked():
            assert isinstance(end, Parked) and end.seconds is not None
            if end.seconds != ELSEWHERE_S:
                waits.append(end.seconds)
                self.clock.time += int(end.seconds * 1000) + 1
        return waits


async def test_it_is_abandoned_longer_each_time_and_then_for_good() -> None:
    deadly = Deadly()
    waits = await deadly.until_left_alone()
    assert len(waits) == MAX_FALLS - 2 and waits == sorted(waits)
    world, run = deadly.world, deadly.run
    assert falls_of((await world.archive.history(run)).lines) == MAX_FALLS
    why = (await world.archive.explain(run)).why
    assert f"{MAX_FALLS} processes died executing it" in why
    deadly.clock.time += 10**9
    records = len((await world.archive.history(run)).lines)
    assert await deadly.segments.execute(run, "submitted") == Parked()
    assert len((await world.archive.history(run)).lines) == records, "nothing is recorded"
    assert (await world.archive.replay(run)).divergence is None


@pytest.mark.req("abandoned-explained")
async def test_a_run_that_waits_for_it_says_so() -> None:
    deadly = Deadly()
    caller = boss(1, deadly.agent)
    deadly.segments = Segments(deadly.world, {NAME: caller}, nothing)
    top = await deadly.world.submit("Go.", caller, name=NAME)
    awaits = await deadly.segments.execute(top, "submitted")
    assert isinstance(awaits, AwaitsRuns)
    (deadly.run,) = awaits.runs
    await deadly.until_left_alone()
    explained = await deadly.world.archive.explain(top)
    assert f"Workers leave {deadly.run} alone" in explained.why
    assert explained.next == (f"artificer explain {deadly.run}", f"artificer cancel {top}")
    assert (await deadly.world.archive.explain(deadly.run)).next[0] == (
        f"artificer resume {deadly.run} --agent MODULE:NAME"
    )


async def test_it_is_executed_again_after_a_message() -> None:
    deadly = Deadly()
    await deadly.until_left_alone()
    deadly.deadly = False
    await deadly.world.send(deadly.run, Steer(text="There is more memory now."))
    assert await deadly.segments.execute(deadly.run, "signal") == RunOver()
    assert deadly.segments.abandoned == set()


async def test_a_worker_that_ends_when_idle_does_not_wait_for_it() -> None:
    deadly = Deadly()
    await deadly.until_left_alone()
    options = WorkerOptions(until_idle=True, sweep=SweepTimes(new_s=0.01, all_s=0.05))
    await Worker(deadly.world, LocalDispatcher(), {NAME: deadly.agent}, options).run()
    assert (await deadly.world.get(deadly.run)).status == "open"


async def test_a_run_that_is_released_has_not_fallen() -> None:
    """As by workers that are stopped in order, however often."""
    deadly = Deadly()
    deadly.deadly = False
    run = await deadly.world.submit("Hi", deadly.agent, name=NAME)
    assert await deadly.segments.execute(run, "submitted") == RunOver()
    assert falls_of((await deadly.world.archive.history(run)).lines) == 0
    assert delay_after(0, run) == delay_after(1, run) == 0
    assert delay_after(MAX_FALLS - 1, "a") != delay_after(MAX_FALLS - 1, "b"), "they part"
