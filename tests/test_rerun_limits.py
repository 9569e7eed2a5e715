"""Runs that ended at a limit on their tools, run again: the recording says what the tools took."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from artificer import Agent, Limits, World, tool
from artificer.core.events import PromptReceived
from artificer.core.record import EventLine
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.recording import read_recording
from artificer.recordings.rerun import rerun
from artificer.runtime.load import load
from artificer.values.model import Usage
from artificer.wiring.recordings import rerun_recording

pytestmark = pytest.mark.req("rerun-limits")


@tool(effect="pure")
async def endless() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "never"


class TestARerunEndsAtTheLimit:
    async def test_of_the_time_of_its_tools(self) -> None:
        script = ScriptedProvider([reply(call("endless")), say("Done.")])
        agent = Agent(script, kind="chat", tools=[endless], limits=Limits(tool_ms=30))
        async with World.in_memory() as world:
            run = await agent.run("Go.", world=world)
            assert run.state.reason == "tool_time_limit"
            data = await world.archive.export_run(run.id)
            assert await rerun_recording(data, world.config) == []

    async def test_and_shows_a_release_that_goes_on(self) -> None:
        script = ScriptedProvider([reply(call("endless")), say("Done.")])
        agent = Agent(script, kind="chat", tools=[endless], limits=Limits(tool_ms=30))
        async with World.in_memory() as world:
            run = await agent.run("Go.", world=world)
            recording = await read_recording(await world.archive.export_run(run.id))
        recorded = await load(recording.journal, recording.blobs, run.id)
        first, *rest = recorded.lines
        assert isinstance(first, EventLine) and isinstance(first.event, PromptReceived)
        spec = first.event.spec.replace(limits=Limits(tool_ms=3_600_000))
        longer = first.replace(event=first.event.replace(spec=spec))
        again = structs.replace(recorded, lines=(longer, *rest))
        assert await rerun(again, recording.blobs, script) == ["it makes 2 requests, not 1"]

    async def test_of_the_tokens_of_the_runs_that_it_started(self) -> None:
        expensive = structs.replace(say("Once."), usage=Usage(input_tokens=1, output_tokens=4_000))
        child = Agent(ScriptedProvider([expensive]), kind="chat")
        script = ScriptedProvider([reply(call("write", prompt="Tell.")), say("Done.")])
        tools, limits = [child.as_tool("write", "Write.")], Limits(total_tokens=4_300)
        async with World.in_memory() as world:
            run = await Agent(script, kind="chat", tools=tools, limits=limits).run(
                "Go.", world=world
            )
            assert run.state.reason == "token_limit"
            data = await world.archive.export_run(run.id)
            assert await rerun_recording(data, world.config) == []


async def test_a_rerun_withdraws_the_same_artifacts() -> None:
    items = {"kind": "list", "id": "l", "items": ["a"]}
    withdraw = call("withdraw_artifact", kind="list", id="l")
    script = ScriptedProvider([reply(call("create_list", list=items)), reply(withdraw), say("No.")])
    async with World.in_memory() as world:
        run = await Agent(script, kind="deliver").run("Go.", world=world)
        assert run.status == "completed" and not run.artifacts
        data = await world.archive.export_run(run.id)
        assert await rerun_recording(data, world.config) == []
