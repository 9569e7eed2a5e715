"""A run in the present folder that books a seat with its manifest, to be killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from artificer.agent import Agent
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider, call, reply
from artificer.world import World


async def main() -> None:
    """Run until something ends it."""
    script = ScriptedProvider([reply(call("book", seat="4A"))])
    async with World.open(Config(home=Path("home"), project="p")) as world:
        await world.run("Go.", Agent(kind="chat", model=script, tools=[Path("tools")]), run_id="r")


asyncio.run(main())
