"""The runs that benches make: a scripted model, a trivial tool, a world in a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import artificer
from artificer.agent import Agent
from artificer.core.intents import Generate
from artificer.core.record import EventLine, IntentLine
from artificer.ports import Durability
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.world import World


@artificer.tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@artificer.tool(effect="pure")
async def look_up(key: str, n: int) -> str:
    """Look something up."""
    return f"{key} {n}: " + "what was found there, in a sentence or two. " * 4


def script_of(turns: int, tool: str = "add", **arguments: Any) -> list[Any]:
    """Replies that call a tool once a turn, and then end the run."""
    given = arguments or {"b": 1}
    number = "a" if tool == "add" else "n"
    return [*(reply(call(tool, **given, **{number: n})) for n in range(turns)), say("Done.")]


@asynccontextmanager
async def opened(
    folder: str | Path | None = None, durability: Durability = "process"
) -> AsyncIterator[World]:
    """A world in a folder, or in one that is removed at the end."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(folder or temporary)
        config = artificer.Config(home=home, project="bench", durability=durability)
        async with World.open(config) as world:
            yield world


async def run(
    world: World, script: list[Any], observer: Any = None, **fields: Any
) -> artificer.Run:
    """A run of a script. It must have ended well, unless it waits for a person."""
    made = await world.run(
        "Do it, one after the other.",
        Agent(
            model=ScriptedProvider(script),
            tools=[add, look_up],
            limits=artificer.Limits(turns=len(script)),
            kind="chat",
            **fields,
        ),
        observer=observer,
    )
    assert made.state.failure is None, made.state.failure
    return made


class Requests(artificer.Observer):
    """Calls a function with the number of each request, once that is recorded."""

    def __init__(self, reached: Any) -> None:
        self._reached = reached
        self._count = 0

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        if isinstance(line, IntentLine) and isinstance(line.intent, Generate):
            self._count += 1
            self._reached(self._count)
