"""Searching the runs of a world."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer import Agent, Config, ScriptedProvider, World, tool
from artificer.providers.scripted import call, reply, say


@tool(effect="pure")
async def look(place: str) -> str:
    """Look somewhere."""
    return f"In {place} there is a Lamp."


@pytest.mark.req("archive-search")
async def test_every_text_of_every_run_is_found(tmp_path: Path) -> None:
    script = [reply(call("look", place="Bern")), say("x " * 200 + "A lamp."), say("No."), say("!")]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[look])
    async with World.open(Config(home=tmp_path)) as world:
        first = await agent.run("What is in Bern?", world=world, run_id="a-1")
        await agent.follow_up(first, "Another lamp?", world=world)
        await agent.run("lamp, please", world=world, run_id="b-2")
        hits = await world.archive.search("LAMP")
        assert [(hit.run, hit.event) for hit in hits] == [
            ("b-2", "PromptReceived"),
            ("a-1", "ToolReturned"),
            ("a-1", "ModelResponded"),
            ("a-1", "FollowUpReceived"),
        ]
        assert hits[2].snippet.startswith("…") and hits[2].snippet.endswith("A lamp.")
        assert [hit.event for hit in await world.archive.search("bern lamp")] == ["ToolReturned"]
        assert len(await world.archive.search("lamp", limit=1)) == 1
        assert await world.archive.search(" ") == await world.archive.search('%_"*') == []
