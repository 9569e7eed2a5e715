"""Children that are ended before they have an answer, and the result that their caller reads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from artificer import (
    Agent,
    Interrupt,
    Limits,
    Policy,
    Rule,
    RunContext,
    ScriptedProvider,
    World,
    tool,
)
from artificer.backends.function.decorator import FunctionTool
from artificer.providers.scripted import call, reply, say
from artificer.runs import Run
from artificer.values.blocks import Message, ToolResultBlock
from artificer.wiring.families import end_children

TIME_S = 1.0
"""Seconds of a call, in which a child begins and calls its tool, on a busy machine too."""


class Till:
    """A charge that goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = threading.Event()
        self.charged = 0

    def waiting(self, effect: Any = "once") -> FunctionTool[..., Any]:
        """The charge as a coroutine, which can be stopped."""

        @tool(name="charge", effect=effect)
        async def charge() -> str:
            """Charge."""
            self.begun.set()
            return await asyncio.Event().wait() or "never"

        return charge

    def unstoppable(self, **options: Any) -> FunctionTool[..., Any]:
        """The charge as a thread, which nothing can stop."""

        @tool(name="charge", effect="once", **options)
        def charge() -> str:
            """Charge."""
            self.go.wait(60)
            self.charged += 1
            return "charged"

        return charge


@pytest.fixture
def till() -> Iterator[Till]:
    till = Till()
    yield till
    till.go.set()


def shop(charge: FunctionTool[..., Any], **options: Any) -> Agent:
    """An agent that charges once."""
    model = ScriptedProvider([reply(call("charge")), say("Bought.")])
    return Agent(model, kind="chat", tools=[charge], **options)


def boss(child: Agent, name: str = "shop", time_s: float = TIME_S, **options: Any) -> Agent:
    """An agent that lets another one do its work."""
    model = ScriptedProvider([reply(call(name, prompt="Go.")), say("Sorry.")])
    tools = [child.as_tool(name, "Does it.", timeout=time_s)]
    return Agent(model, kind="chat", tools=tools, **options)


def result(run: Run) -> tuple[str, str]:
    """Return the status and the content of the only call."""
    (block,) = run.messages[2].blocks
    assert isinstance(block, ToolResultBlock)
    return block.status, block.content


async def standings(world: World, run: str) -> list[str]:
    return [node.status for node in await world.archive.children(run)]


async def sound(world: World) -> None:
    """Every run replays, and nothing in the world was changed."""
    for run in await world.archive.runs():
        assert (await world.archive.replay(run)).divergence is None
    assert (await world.archive.verify()).problems == []


@pytest.mark.req("sub-agents-timeout")
@pytest.mark.parametrize(
    ("effect", "status"), [("once", "ambiguous"), ("keyed", "ambiguous"), ("pure", "timeout")]
)
async def test_a_child_is_cancelled_at_the_end_of_its_calls_time(
    till: Till, effect: str, status: str
) -> None:
    """Its call in progress may have happened; a pure one changes nothing."""
    async with World.in_memory() as world:
        run = await world.run("Buy.", boss(shop(till.waiting(effect))), run_id="r")
        found, content = result(run)
        assert (run.text, found, till.begun.is_set()) == ("Sorry.", status, True)
        assert run.children[0] in content and "did not end within 1 s" in content
        assert ("charge" in content) == (status == "ambiguous")
        assert [doubt.tool for doubt in run.doubts] == ["shop"] * (status == "ambiguous")
        assert await standings(world, "r") == ["cancelled"]
        assert run.usage.output_tokens == 15, "with what the child has used"
        await sound(world)


@pytest.mark.req("sub-agents-timeout")
async def test_what_goes_on_after_that_is_in_doubt_until_its_end_is_known(till: Till) -> None:
    child = shop(till.unstoppable())
    async with World.in_memory() as world:
        run = await world.run("Buy.", boss(child), run_id="r")
        assert (result(run)[0], till.charged) == ("ambiguous", 0)
        (name,) = run.children
        assert [doubt.tool for doubt in (await world.get(name)).doubts] == ["charge"]
        (left,) = (one for one in threading.enumerate() if one.name.endswith("tool charge"))
        till.go.set()
        await asyncio.to_thread(left.join)
        assert (await world.resume(name, child)).doubts == ()
        await sound(world)


@pytest.mark.req("sub-agents-timeout")
async def test_the_time_of_a_call_ends_those_below_its_run_too(till: Till) -> None:
    agent = boss(boss(shop(till.waiting()), time_s=60), name="buyer")
    async with World.in_memory() as world:
        run = await world.run("Buy.", agent, run_id="r")
        status, content = result(run)
        below = [node.run for node in await world.archive.children("r")]
        assert (status, await standings(world, "r")) == ("ambiguous", ["cancelled"] * 2)
        assert f"charge in the run {below[1]}" in content
        await sound(world)


@pytest.mark.req("sub-agents-timeout")
async def test_a_limit_of_the_time_in_tools_ends_a_child(till: Till) -> None:
    agent = boss(shop(till.waiting("pure")), time_s=60, limits=Limits(tool_ms=1000))
    async with World.in_memory() as world:
        run = await world.run("Buy.", agent, run_id="r")
        assert (run.reason, await standings(world, "r")) == ("tool_time_limit", ["cancelled"])
        assert result(run)[0] == "timeout"


@pytest.mark.req("sub-agents-timeout")
async def test_a_child_that_does_not_begin_in_time_has_done_nothing(till: Till) -> None:
    async def instructions(ctx: RunContext) -> str:
        return await asyncio.Event().wait() or "never"

    agent = boss(shop(till.waiting(), instructions=instructions), time_s=0.1)
    async with World.in_memory() as world:
        run = await world.run("Buy.", agent, run_id="r")
        status, content = result(run)
        assert status == "timeout" and "did not begin within 0.1 s" in content
        assert (await standings(world, "r"), run.doubts) == ([], ())


@pytest.mark.req("sub-agents-timeout")
async def test_a_child_that_was_left_at_the_end_of_its_calls_time_ends_with_its_caller(
    till: Till,
) -> None:
    """Releases before this one left it open."""
    asks = Policy(rules=(Rule(decision="ask", tool="charge"),))
    async with World.in_memory() as world:
        run = await world.run("Buy.", boss(shop(till.waiting(), policy=asks)), run_id="r")
        assert await standings(world, "r") == ["waiting"]
        late = ToolResultBlock(tool_use_id="call_1_0", status="timeout", content="Ended.")
        answer = Message(role="user", blocks=(late,))
        state = run.state.replace(history=(*run.state.history, answer))
        await end_children(world._resources, "r", state)
        assert await standings(world, "r") == ["cancelled"]


@pytest.mark.req("sub-agents-doubts")
async def test_a_child_that_ends_in_doubt_without_an_answer_is_no_clean_failure(till: Till) -> None:
    """The caller's model would have the same done again, by another run."""
    child = shop(till.unstoppable(timeout=0.1), limits=Limits(turns=1))
    async with World.in_memory() as world:
        run = await world.run("Buy.", boss(child, time_s=60), run_id="r")
        status, content = result(run)
        assert (status, await standings(world, "r")) == ("ambiguous", ["failed"])
        assert f"charge in the run {run.children[0]}" in content
        assert [doubt.tool for doubt in run.doubts] == ["shop"]
        await sound(world)


class Gate:
    """A call that ends when it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    @property
    def wait(self) -> FunctionTool[..., Any]:
        """The tool that waits."""

        @tool(name="wait", effect="once")
        async def wait() -> str:
            """Wait."""
            self.begun.set()
            await self.go.wait()
            return "waited"

        return wait


async def held(world: World, run: str) -> None:
    """Wait until a run has learnt that it is to begin nothing new."""
    async with asyncio.timeout(60):
        while True:
            if (await world.get(run)).state.hold is not None:
                return
            await asyncio.sleep(0)


@pytest.mark.req("sub-agents-interrupted")
async def test_interrupting_a_caller_lets_the_calls_below_it_end_and_begins_nothing() -> None:
    gate = Gate()
    models = [ScriptedProvider([reply(call("wait")), say("No.")])]
    agent = Agent(models[0], kind="chat", tools=[gate.wait])
    for _ in range(2):
        models.append(ScriptedProvider([reply(call("kid", prompt="Go.")), say("No.")]))
        agent = Agent(models[-1], kind="chat", tools=[agent.as_tool("kid", "Waits.")])
    async with World.in_memory() as world:
        running = asyncio.create_task(world.run("Go.", agent, run_id="r"))
        await gate.begun.wait()
        await world.send("r", Interrupt(reason="Enough."))
        below = [node.run for node in await world.archive.children("r")]
        for child in below:
            await held(world, child)
        gate.go.set()
        run = await running
        assert (run.status, run.reason) == ("cancelled", "interrupted")
        assert [len(model.requests) for model in models] == [1, 1, 1]
        assert [(await world.get(child)).reason for child in below] == ["interrupted"] * 2
        assert result(await world.get(below[1])) == ("ok", "waited")
        status, content = result(run)
        assert status == "error" and f"The run {below[0]} of this agent is cancelled" in content
        await sound(world)


@pytest.mark.req("sub-agents-interrupted")
async def test_a_child_whose_caller_is_interrupted_before_it_begins_does_nothing() -> None:
    gate, model = Gate(), ScriptedProvider([say("No.")])

    async def instructions(ctx: RunContext) -> str:
        gate.begun.set()
        await gate.go.wait()
        return "Go."

    agent = boss(Agent(model, kind="chat", instructions=instructions), time_s=60)
    async with World.in_memory() as world:
        running = asyncio.create_task(world.run("Go.", agent, run_id="r"))
        await gate.begun.wait()
        await world.send("r", Interrupt())
        await held(world, "r")
        gate.go.set()
        assert (await running).reason == "interrupted"
        assert (await standings(world, "r"), model.requests) == (["cancelled"], [])
        await sound(world)


@pytest.mark.req("sub-agents-interrupted")
async def test_a_child_whose_caller_is_interrupted_after_a_crash_is_not_continued() -> None:
    gate, model = Gate(), ScriptedProvider([reply(call("wait")), say("No.")])
    agent = boss(Agent(model, kind="chat", tools=[gate.wait]), time_s=60)
    async with World.in_memory() as world:
        running = asyncio.create_task(world.run("Go.", agent, run_id="r"))
        await gate.begun.wait()
        running.cancel()
        await asyncio.wait((running,))
        await world.send("r", Interrupt())
        run = await world.resume("r", agent)
        assert (run.reason, result(run)[0]) == ("interrupted", "ambiguous")
        assert (await standings(world, "r"), len(model.requests)) == (["cancelled"], 1)
        await sound(world)
