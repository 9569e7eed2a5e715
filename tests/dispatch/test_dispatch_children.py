"""The runs of agents that a submitted run calls: workers execute them as runs of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from children_suite import (
    NAME,
    ChildrenSuite,
    DispatchedPlace,
    answering,
    boss,
    chat,
    children_of,
    results,
    sound,
    stands,
    working,
)
from memory_assignments import MemoryAssignments
from postgres_server import PostgresServer

from artificer import Agent, Config, Interrupt, Limits, RunContext, ScriptedProvider, World, tool
from artificer.core.record import EventLine
from artificer.dispatch.assigned import AssignedRuns, assigned_runs
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.segments import Segments
from artificer.dispatch.sweeper import Sweeper
from artificer.errors import OperatorError
from artificer.ownership.local import LocalOwner
from artificer.ports import (
    Amount,
    AwaitsRuns,
    Claim,
    DispatchedRun,
    Parked,
    Reservation,
    RunOver,
    SpendingLimit,
)
from artificer.providers.scripted import call, reply, say
from artificer.runtime.limits.accounts import EXPIRES_MS
from artificer.testing.dispatcher_suite import WITHIN_S
from artificer.values.model import Usage
from artificer.wiring.engines import idle_engine

worlds = count()


async def nothing(run: str) -> None:
    """Wake no caller: the one who would have done it is dead."""


class Handed:
    """A dispatcher that keeps what it is told."""

    def __init__(self) -> None:
        self.submitted: list[str] = []
        self.woken: list[tuple[str, str]] = []
        self.cancelled: list[tuple[str, str]] = []

    async def submit(self, wanted: DispatchedRun) -> None:
        self.submitted.append(wanted.run)

    async def wake(self, run: str, cause: str) -> None:
        self.woken.append((run, cause))

    async def cancel(self, run: str, reason: str) -> None:
        self.cancelled.append((run, reason))


@pytest.mark.req("dispatched-children")
class TestChildrenOfLocal(ChildrenSuite):
    @pytest_asyncio.fixture
    async def place(self) -> AsyncIterator[DispatchedPlace]:
        async with World.in_memory() as world:
            yield DispatchedPlace(world, LocalDispatcher())


@pytest.mark.req("dispatched-children")
class TestChildrenOfAssigned(ChildrenSuite):
    @pytest_asyncio.fixture
    async def place(self) -> AsyncIterator[DispatchedPlace]:
        assignments = MemoryAssignments(lambda _: True)
        dispatcher = LocalDispatcher(assigned=AssignedRuns(assignments, LocalOwner()))
        async with World.in_memory() as world:
            yield DispatchedPlace(world, dispatcher)


@pytest.mark.xdist_group("servers")
@pytest.mark.req("dispatched-children")
async def test_children_are_executed_by_all_workers_of_a_world(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """Each of two has one slot, and two children have to meet: their caller holds none."""
    storage, both = postgres_server.url(f"children_{next(worlds)}"), asyncio.Event()
    where = list[str]()

    def agent_on(host: str) -> Agent:
        @tool(effect="once")
        async def meet() -> str:
            """Meet another one."""
            where.append(host)
            if len(where) == 2:
                both.set()
            await both.wait()
            return "met"

        return boss(3, answering(meet))

    hosts = {name: Config(home=tmp_path / name, project="p", storage=storage) for name in "ab"}
    async with World.open(hosts["a"]) as a, World.open(hosts["b"]) as b:
        locals_ = [LocalDispatcher(assigned=assigned_runs(world)) for world in (a, b)]
        async with (
            working(a, locals_[0], agent_on("a")),
            working(b, locals_[1], agent_on("b")),
        ):
            run = await a.submit("Go.", agent_on("a"), name=NAME)
            found = await stands(a, run, "completed")
        assert results(found) == [("ok", "Child.")] * 3
        assert len(where) == 3
        assert set(where[:2]) == {"a", "b"}
        await sound(a)


@pytest.mark.req("dispatched-children")
class TestSegmentsOfACaller:
    async def test_it_waits_for_its_children_and_reads_their_results_at_once(self) -> None:
        """A segment in between records nothing, and neither does one after a lost wake."""
        agent = boss(2, chat("One.", "Two."), timeout=7)
        async with World.in_memory() as world:
            run = await world.submit("Go.", agent, name=NAME)
            segments = Segments(world, {NAME: agent}, nothing)
            waits = await segments.execute(run, "submitted")
            assert isinstance(waits, AwaitsRuns) and len(waits.runs) == 2
            child = (await world.get(waits.runs[0])).state.run_spec
            assert (child.limits.wall_ms, child.parent) == (7_000, run)
            before = len((await world.archive.history(run)).lines)
            assert await segments.execute(waits.runs[0], "submitted") == RunOver()
            assert isinstance(await segments.execute(run, "child"), AwaitsRuns)
            assert len((await world.archive.history(run)).lines) == before
            assert await segments.execute(waits.runs[1], "submitted") == RunOver()
            assert await segments.execute(run, "timer") == RunOver()
            assert sorted(results(await world.get(run))) == [("ok", "One."), ("ok", "Two.")]
            await sound(world)

    async def test_outside_of_workers_a_caller_continues_its_children_itself(self) -> None:
        agent = boss(2, chat("One.", "Two."))
        async with World.in_memory() as world:
            run = await world.submit("Go.", agent, name=NAME)
            await Segments(world, {NAME: agent}, nothing).execute(run, "submitted")
            found = await world.resume(run, agent)
            assert (found.status, len(results(found))) == ("completed", 2)
            plain = await world.run("Go.", boss(1, chat("Here.")))
            (child,) = plain.children
            assert (await world.get(child)).state.run_spec.submission is None
            await sound(world)

    async def test_dependencies_are_made_again_from_the_topmost_caller_on(self) -> None:
        seen = list[Any]()

        @tool(effect="once")
        async def look(ctx: RunContext[Any]) -> str:
            """Look."""
            seen.append(ctx.deps)
            return "seen"

        def of_call(ctx: RunContext[Any]) -> tuple[str, str]:
            return ctx.deps, ctx.run_id

        child = answering(look)
        middle = chat(
            reply(call("low", prompt="task")), "Child.", tools=[child.as_tool("low", "L.")]
        )
        tools = [middle.as_tool("ask", "Asks.", deps=of_call)]
        agent = chat(
            reply(call("ask", prompt="task")), "Done.", tools=tools, deps_factory=lambda: "made"
        )
        async with World.in_memory() as world:
            async with working(world, LocalDispatcher(), agent):
                run = await world.submit("Go.", agent, name=NAME, run_id="r")
                assert results(await stands(world, run, "completed")) == [("ok", "Child.")]
            assert seen == [("made", "r")]

    async def test_a_handoff_is_executed_apart_too(self) -> None:
        other = chat("Refunded.")
        script = reply(call("transfer_to_billing", prompt="Refund."))
        agent = chat(script, tools=[other.as_handoff("billing", "Money.")])
        async with World.in_memory() as world:
            async with working(world, LocalDispatcher(), agent):
                run = await world.submit("I paid twice.", agent, name=NAME)
                found = await stands(world, run, "completed")
            assert found.text == "Refunded."
            assert (await world.get(found.children[0])).state.run_spec.submission is not None
            await sound(world)

    async def test_a_child_whose_agent_is_gone_from_its_caller_is_left_to_others(self) -> None:
        agent = boss(1, chat("One."))
        async with World.in_memory() as world:
            run = await world.submit("Go.", agent, name=NAME)
            segments = Segments(world, {NAME: agent}, nothing)
            end = await segments.execute(run, "submitted")
            assert isinstance(end, AwaitsRuns)
            other = Segments(world, {NAME: chat()}, nothing)
            refused = await other.execute(end.runs[0], "submitted")
            assert isinstance(refused, Parked) and refused.refused
            assert await segments.execute(end.runs[0], "submitted") == RunOver()


class Deaf(LocalDispatcher):
    """Loses every wake after the end of a child."""

    async def wake(self, run: str, cause: str) -> None:
        """Refuse that one."""
        if cause == "child":
            raise OperatorError("It is away.")
        await super().wake(run, cause)


@pytest.mark.req("dispatched-children-crash")
class TestLost:
    async def test_the_end_of_a_child_is_found_without_a_wake(self) -> None:
        agent = boss(2, chat("One.", "Two."))
        async with World.in_memory() as world, working(world, Deaf(awaited_s=0.05), agent):
            run = await world.submit("Go.", agent, name=NAME)
            assert len(results(await stands(world, run, "completed"))) == 2

    async def test_children_of_a_cancelled_caller_end_whoever_was_to_end_them(self) -> None:
        """Its process died in between; one child is under way, and one has not begun."""
        agent = boss(2, chat("One.", "Two."))
        async with World.in_memory() as world:
            run = await world.submit("Go.", agent, name=NAME)
            segments = Segments(world, {NAME: agent}, nothing)
            end = await segments.execute(run, "submitted")
            assert isinstance(end, AwaitsRuns)
            await idle_engine(world._resources).cancel(run, "Enough.")
            handed = Handed()
            await Sweeper(world, handed).look_at_all()  # type: ignore[arg-type]
            why = "The run that called it was cancelled."
            assert sorted(handed.cancelled) == [(child, why) for child in sorted(end.runs)]
            for child in end.runs:
                assert await segments.execute(child, "submitted") == RunOver()
                assert (await world.get(child)).status == "cancelled"
            await sound(world)


@pytest.mark.req("sub-agents-interrupted")
@pytest.mark.parametrize("busy", [True, False])
async def test_interrupting_a_caller_reaches_the_children_that_workers_execute(busy: bool) -> None:
    """While the caller has a call of its own in progress, those of its child end as that does. A
    caller that only waits for its child ends at once, and its child with what it does.
    """
    began, child_began, let_go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(effect="once", resources=["caller"])
    async def own() -> str:
        """Wait."""
        began.set()
        await let_go.wait()
        return "waited"

    @tool(effect="once", resources=["child"])
    async def wait() -> str:
        """Wait."""
        child_began.set()
        await let_go.wait()
        return "waited"

    model = ScriptedProvider([reply(call("wait")), "No."])
    child = Agent(model, kind="chat", tools=[wait])
    calls = [call("kid", prompt="Go."), *([call("own")] if busy else [])]
    agent = chat(reply(*calls), "No.", tools=[child.as_tool("kid", "Waits."), own])
    async with World.in_memory() as world, working(world, LocalDispatcher(), agent, slots=2):
        run = await world.submit("Go.", agent, name=NAME)
        async with asyncio.timeout(WITHIN_S):
            await child_began.wait()
            if busy:
                await began.wait()
        (kid,) = await children_of(world, run, 1)
        await world.send(run, Interrupt())
        if busy:
            await held(world, kid)
            let_go.set()
        ended = [await stands(world, each, "cancelled") for each in (kid, run)]
        reasons = ["interrupted" if busy else "cancelled", "interrupted"]
        assert [one.reason for one in ended] == reasons
        assert len(model.requests) == 1
        await sound(world)


async def held(world: World, run: str) -> None:
    """Wait until a run has learnt that it is to begin nothing new."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if (await world.get(run)).state.hold is not None:
                return
            await asyncio.sleep(0.02)


async def resumed(world: World, run: str) -> None:
    """Wait until a worker executes a run."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            lines = (await world.archive.history(run)).lines
            if any(isinstance(line, EventLine) and line.seq > 1 for line in lines):
                return
            await asyncio.sleep(0.01)


@pytest.mark.req("dispatched-children-crash")
async def test_a_call_of_an_agent_is_not_in_doubt_when_its_worker_may_live() -> None:
    """Nobody knows whether the worker is dead; the child's own journal says what has happened."""
    agent = boss(1, chat("One."))
    async with World.in_memory() as world:
        run = await world.submit("Go.", agent, name=NAME)
        segments = Segments(world, {NAME: agent}, nothing)
        end = await segments.execute(run, "submitted")
        assert isinstance(end, AwaitsRuns)
        await world.storage.journal.acquire(run, Claim("a worker on another host"))
        assert await segments.execute(end.runs[0], "submitted") == RunOver()
        assert await segments.execute(run, "child") == RunOver()
        assert results(await world.get(run)) == [("ok", "One.")]
        await sound(world)


def long(text: str) -> Any:
    """A reply for 300 tokens."""
    return say(text).replace(usage=Usage(input_tokens=20, output_tokens=280))


@pytest.mark.req("dispatched-children-budget")
@pytest.mark.parametrize(
    ("limit", "reasons"),
    [(700, ["done", "done", "token_limit"]), (950, ["done", "done", "done"])],
)
async def test_children_of_several_workers_share_one_budget(
    limit: int, reasons: list[str], tmp_path: Path
) -> None:
    """The others wait for what one has reserved, and nothing is spent twice."""
    all_begun = asyncio.Event()

    async def answer(body: object) -> Any:
        await all_begun.wait()
        return long("Child.")

    def agent_here() -> Agent:
        model = ScriptedProvider(answer)
        small = Limits(max_tokens=300)
        child = Agent(model, kind="chat", instructions="", limits=small)
        return boss(3, child, limits=Limits(max_tokens=300, total_tokens=limit))

    config = Config(home=tmp_path, project="p", durability="process")
    async with World.open(config) as a, World.open(config) as b:
        async with (
            working(a, LocalDispatcher(), agent_here(), slots=2),
            working(b, LocalDispatcher(), agent_here(), slots=2),
        ):
            run = await a.submit("Go.", agent_here(), name=NAME)
            children = await children_of(a, run, 3)
            for child in children:
                await resumed(a, child)
            await asyncio.sleep(0.05)  # the third most often asks in vain meanwhile
            all_begun.set()
            over = ("completed", "truncated", "failed")
            found = [await stands(a, child, *over) for child in children]
            await stands(a, run, *over)
        assert sorted(str(child.reason) for child in found) == reasons


@pytest.mark.req("dispatched-children-budget")
async def test_a_run_waits_for_what_others_have_reserved_no_longer_than_its_own_time() -> None:
    """A worker that was killed gives back nothing: what it has reserved expires after an hour."""
    limits = Limits(max_tokens=300, total_tokens=4000, wall_ms=100)
    agent = boss(1, chat("One."), limits=limits)
    async with World.in_memory() as world:
        run = await world.submit("Go.", agent, name=NAME, run_id="r")
        whole, now = SpendingLimit(tokens=4000), world.clock.now()
        until = now + EXPIRES_MS
        lost = Reservation("run:r", 1, Amount(3900, 0), whole, now, until)
        await world.storage.budget.reserve([lost])
        async with asyncio.timeout(WITHIN_S):
            await Segments(world, {NAME: agent}, nothing).execute(run, "submitted")
        found = await world.get(run)
        assert found.status == "stalled"
        assert (await world.storage.budget.spent("run:r", now)).reserved == lost.need


async def submitted_twice(agent: Agent, other: World, world: World) -> str:
    """Submit the same run to two worlds, and return the child that it begins in the other one."""
    for each in (other, world):
        await each.submit("Go.", agent, name=NAME, run_id="r")
    end = await Segments(other, {NAME: agent}, nothing).execute("r", "submitted")
    assert isinstance(end, AwaitsRuns)
    (child,) = end.runs
    return child


@pytest.mark.req("dispatched-children")
async def test_a_run_that_somebody_gave_the_id_of_a_child_is_not_waited_for() -> None:
    agent = boss(1, chat("One."))
    async with World.in_memory() as other, World.in_memory() as world:
        child = await submitted_twice(agent, other, world)
        await world.submit("Mine.", chat(), run_id=child)
        assert await Segments(world, {NAME: agent}, nothing).execute("r", "timer") == RunOver()
        ((status, why),) = results(await world.get("r"))
        assert status == "error"
        assert "has not begun" in why


@pytest.mark.req("dispatched-children-crash")
async def test_a_child_that_a_lost_worker_is_about_to_begin_is_begun_later() -> None:
    """The caller was taken from that worker, which holds the child and has recorded nothing."""
    agent = boss(1, chat("One."))
    async with World.in_memory() as other, World.in_memory() as world:
        child, journal = await submitted_twice(agent, other, world), world.storage.journal
        lost = LocalOwner()
        hold = lost.hold(child)
        lease = await journal.acquire(child, Claim(lost.id, None, hold.admit))
        segments = Segments(world, {NAME: agent}, nothing)
        assert isinstance(await segments.execute("r", "submitted"), Parked)
        await journal.release(child, lease.epoch)
        hold.end(released=True)
        assert await segments.execute("r", "timer") == AwaitsRuns((child,))
        assert await segments.execute(child, "submitted") == RunOver()
        assert await segments.execute("r", "child") == RunOver()
        assert results(await world.get("r")) == [("ok", "One.")]
        await sound(world)
