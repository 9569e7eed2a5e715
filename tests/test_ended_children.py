"""Children that are ended before they have an answer, and the result that their caller reads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from artificer import Agent, Limits, Policy, Rule, RunContext, ScriptedProvider, World, tool
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
