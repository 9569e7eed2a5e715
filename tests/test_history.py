"""New runs that begin with the conversation of an earlier one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from artificer import Agent, AuthorError, Config, File, Image, ScriptedProvider, World, tool
from artificer.providers.scripted import call, reply, say
from artificer.testing.rig import unpaired
from artificer.values.blocks import Message, TextBlock
from artificer.wiring.recordings import rerun_recording
from pictures import png

CAT = Image.from_bytes(png(), name="cat.png")
NOTES = File.from_bytes(b"Black, with white paws.", "text/plain", name="notes.txt")


@tool(effect="pure")
async def draw() -> Image:
    """Draw a cat."""
    return CAT


@tool(effect="pure", trust="untrusted")
async def look(place: str) -> str:
    """Look somewhere."""
    return f"In {place} it says: obey."


@tool(effect="pure", sensitive=True)
async def send(text: str) -> str:
    """Send a text."""
    return text


def texts(provider: ScriptedProvider, number: int) -> list[str]:
    """The texts of a request's messages."""
    messages = provider.requests[number]["messages"]
    return [b.get("text", b["type"]) for m in messages for b in m["blocks"]]


@pytest.mark.req("run-history")
@pytest.mark.parametrize("as_messages", [False, True])
async def test_a_conversation_goes_on_in_a_new_run(as_messages: bool, tmp_path: Path) -> None:
    provider = ScriptedProvider([reply(call("look", place="x")), say("Hm."), say("Ada."), say("!")])
    agent = Agent(provider, kind="chat", tools=[look])
    async with World.open(Config(home=tmp_path)) as world:
        first = await agent.run("I am Ada.", world=world)
        history = first.messages if as_messages else first
        second = await agent.run("Who am I?", world=world, history=history)
        assert texts(provider, 2) == ["I am Ada.", "tool_use", "tool_result", "Hm.", "Who am I?"]
        assert second.text == "Ada." and len(second.messages) == 6 and len(first.messages) == 4
        assert unpaired(second.state.history) == []
        spec = second.state.run_spec
        assert (spec.prompt, spec.history_from) == ("Who am I?", "" if as_messages else first.id)
        third = await agent.follow_up(second, "Really?", world=world)
        assert len(third.messages) == 8
        replayed = await world.archive.replay(second.id)
        assert (replayed.identical, replayed.drift) == (True, [])
        assert (await world.archive.verify()).problems == []
        exported = await world.archive.export_run(second.id)
    async with World.in_memory() as other:
        assert (await other.get(await other.import_run(exported))).text == third.text


@pytest.mark.req("run-history", "blobs-cited")
@pytest.mark.parametrize("as_messages", [False, True])
async def test_an_exported_run_brings_the_attachments_of_its_history(as_messages: bool) -> None:
    """Those of prompts, and those of tools."""
    script = [reply(call("draw")), say("A cat."), say("It is.")]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[draw])
    async with World.in_memory() as world:
        first = await agent.run(["Draw it.", NOTES], world=world)
        history = first.messages if as_messages else first
        second = await agent.run("Is it a cat?", world=world, history=history)
        exported = await world.archive.export_run(second.id)
        assert await rerun_recording(exported, world.config) == []
    async with World.in_memory() as other:
        await other.import_run(exported)
        blobs = other._resources.storage.blobs
        assert [blobs.get(one.digest) for one in (NOTES, CAT)] == [NOTES.data, CAT.data]
        assert (await other.archive.verify()).problems == []


@pytest.mark.req("run-history")
async def test_a_rerun_sends_the_same_requests() -> None:
    agent = Agent(ScriptedProvider([say("One."), say("Two.")]), kind="chat")
    async with World.in_memory() as world:
        first = await agent.run("Count.", world=world)
        second = await agent.run("On.", world=world, history=first)
        exported = await world.archive.export_run(second.id)
        assert await rerun_recording(exported, world.config) == []


@pytest.mark.req("run-history-taint")
@pytest.mark.parametrize("as_messages", [False, True])
async def test_untrusted_results_taint_the_new_run_too(as_messages: bool) -> None:
    script = [reply(call("look", place="x")), say("Hm."), reply(call("send", text="obey"))]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[look, send])
    async with World.in_memory() as world:
        first = await agent.run("Look.", world=world)
        second = await agent.run(
            "Send it.", world=world, history=first.messages if as_messages else first
        )
        assert second.status == "waiting" and "untrusted" in second.questions[0].reason


@pytest.mark.req("run-history")
@pytest.mark.parametrize("text", [5, object()])
async def test_a_message_that_no_record_could_hold_is_refused(text: Any) -> None:
    """It would be recorded, and then never read again."""
    agent = Agent(ScriptedProvider([say("Hm.")]), kind="chat")
    history = [Message(role="user", blocks=(TextBlock(text=words),)) for words in ("Hello.", text)]
    async with World.in_memory() as world:
        with pytest.raises(AuthorError, match=r"history\[1\] cannot be recorded: Message"):
            await agent.run("On.", world=world, history=history)
        assert await world.archive.runs() == []


@pytest.mark.req("run-history")
@pytest.mark.parametrize(
    ("part", "said"),
    [
        (slice(0, 2), "ends in calls without results"),
        (slice(2, 4), r"history\[0\] does not answer the calls before it"),
    ],
)
async def test_half_a_turn_is_refused(part: slice, said: str) -> None:
    script = [reply(call("look", place="x")), say("Hm.")]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[look])
    async with World.in_memory() as world:
        run = await agent.run("Look.", world=world)
        with pytest.raises(AuthorError, match=said):
            await agent.run("On.", world=world, history=run.messages[part])
        with pytest.raises(AuthorError, match=r"history\[0\] is not a message"):
            await agent.run("On.", world=world, history=["Hello."])  # type: ignore[list-item]
        assert await world.archive.runs() == [run.id]
