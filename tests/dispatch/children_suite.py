"""The runs of agents that a submitted run calls, with every kind of worker.

Subclass `ChildrenSuite` in a test module, with a fixture ``place`` that yields a `Place`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from artificer import Agent, Policy, Rule, World, tool
from artificer.core.signals import AnswerCall
from artificer.dispatch.sweeper import SweepTimes
from artificer.dispatch.worker import Worker, WorkerOptions
from artificer.ports import Dispatcher
from artificer.runs import Run
from artificer.testing import ScriptedProvider, call, reply
from artificer.testing.dispatcher_suite import WITHIN_S
from artificer.values.blocks import ToolResultBlock

TIMES = SweepTimes(new_s=0.01, lost_s=0.05, all_s=0.1)

NAME = "here:boss"


def chat(*replies: Any, **fields: Any) -> Agent:
    return Agent(ScriptedProvider(list(replies)), kind="chat", instructions="", **fields)


def boss(calls: int, child: Agent, timeout: float = 1800, **fields: Any) -> Agent:
    """An agent that calls another one so often in one reply, and is done then: in any process."""

    def answer(body: Any) -> Any:
        asks = (call("ask", prompt=f"task {n}") for n in range(calls))
        return "Done." if len(body["messages"]) > 1 else reply(*asks)

    tools = [child.as_tool("ask", "Asks.", timeout=timeout)]
    return Agent(ScriptedProvider(answer), kind="chat", tools=tools, instructions="", **fields)


def answering(*tools: Any, **fields: Any) -> Agent:
    """An agent that calls its first tool, and then says what that returned."""

    def answer(body: Any) -> Any:
        blocks = str(body["messages"][-1])
        return reply(call(tools[0].definition.name)) if "task" in blocks else "Child."

    return Agent(ScriptedProvider(answer), kind="chat", tools=tools, instructions="", **fields)


@asynccontextmanager
async def working(
    world: World, dispatcher: Dispatcher, agent: Agent, slots: int = 1
) -> AsyncIterator[Worker]:
    """A worker of a world."""
    options = WorkerOptions(slots=slots, grace_s=0, sweep=TIMES)
    worker = Worker(world, dispatcher, {NAME: agent}, options)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def stands(world: World, run: str, *statuses: str) -> Run:
    """Wait until a run stands in one of these ways."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await world.get(run)
            if found.status in statuses:
                return found
            await asyncio.sleep(0.02)


async def children_of(world: World, run: str, count: int) -> list[str]:
    """Wait until so many children of a run have begun."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = [child.run for child in await world.archive.children(run)]
            if len(found) == count:
                return found
            await asyncio.sleep(0.02)


def results(run: Run) -> list[tuple[str, str]]:
    """The results of the run's calls, in their order."""
    blocks = [block for message in run.messages for block in message.blocks]
    return [(b.status, b.content) for b in blocks if isinstance(b, ToolResultBlock)]


async def sound(world: World) -> None:
    """Every run replays, and the world is whole."""
    for run in await world.archive.runs():
        assert (await world.archive.replay(run)).divergence is None
    assert (await world.archive.verify()).problems == []


class Place(Protocol):
    """A fresh world, and its workers."""

    world: Any

    def working(self, agent: Agent, slots: int = 1) -> AbstractAsyncContextManager[object]:
        """A worker of the world."""

    async def cancel(self, run: str, reason: str) -> None:
        """End a run that workers execute."""


class DispatchedPlace:
    """A world whose worker is served by a dispatcher."""

    def __init__(self, world: World, dispatcher: Dispatcher) -> None:
        self.world = world
        self._dispatcher = dispatcher

    def working(self, agent: Agent, slots: int = 1) -> AbstractAsyncContextManager[object]:
        """A worker of the world."""
        return working(self.world, self._dispatcher, agent, slots)

    async def cancel(self, run: str, reason: str) -> None:
        """End a run that workers execute."""
        await self._dispatcher.cancel(run, reason)


class ChildrenSuite:
    """Subclass it and give it a fixture ``place``."""

    async def test_a_caller_takes_no_slot_while_its_children_are_executed(
        self, place: Place
    ) -> None:
        """Two at once, with two slots; each is submitted as its caller was, and ends once."""
        inside, both = list[int](), asyncio.Event()

        @tool(effect="once")
        async def meet() -> str:
            """Meet another one."""
            inside.append(1)
            if len(inside) == 2:
                both.set()
            await both.wait()
            return "met"

        agent = boss(3, answering(meet))
        world = place.world
        async with place.working(agent, slots=2):
            run = await world.submit("Go.", agent, name=NAME, tenant="acme", lane="l")
            found = await stands(world, run, "completed")
        assert results(found) == [("ok", "Child.")] * 3
        assert len(inside) == 3
        submitted = {(await world.get(each)).state.run_spec.submission for each in found.children}
        assert submitted == {found.state.run_spec.submission}
        await sound(world)

    async def test_a_question_of_a_child_reaches_people_and_its_answer_the_caller(
        self, place: Place
    ) -> None:
        """Of a child of a child."""

        @tool(effect="once")
        async def pay() -> str:
            """Pay."""
            return "paid"

        ask = Policy(rules=(Rule(decision="ask", tool="pay"),))
        deep = answering(pay, policy=ask)
        agent = boss(
            1,
            chat(reply(call("deep", prompt="task")), "Child.", tools=[deep.as_tool("deep", "D.")]),
        )
        world = place.world
        async with place.working(agent):
            run = await world.submit("Go.", agent, name=NAME)
            (question,) = (await stands(world, run, "waiting")).questions
            assert question.run.count(".") == 2
            await world.send(run, AnswerCall(call=question.digest, approved=True))
            found = await stands(world, run, "completed")
        assert results(found) == [("ok", "Child.")]
        await sound(world)

    async def test_a_cancellation_of_the_caller_ends_its_children(self, place: Place) -> None:
        """With what is under way in one, and one whose turn has not come."""
        began, ended = asyncio.Event(), asyncio.Event()

        @tool(effect="idempotent")
        async def wait() -> str:
            """Wait."""
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return "never"

        agent = boss(2, answering(wait))
        world = place.world
        async with place.working(agent, slots=1):
            run = await world.submit("Go.", agent, name=NAME)
            children = await children_of(world, run, 2)
            async with asyncio.timeout(WITHIN_S):
                await began.wait()
            await place.cancel(run, "enough")
            for child in children:
                await stands(world, child, "cancelled")
            async with asyncio.timeout(WITHIN_S):
                await ended.wait()
            await stands(world, run, "cancelled")
        await sound(world)
