"""A run that another process executes, as a reader here sees it: also what forms."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import preloaded
from artificer import events
from artificer.config import Config
from artificer.runtime.watching.relayed import FOLDER, short_path
from artificer.system.files import private_folder
from artificer.world import World

pytestmark = pytest.mark.req("stream-elsewhere")

PIECES = [f"piece {number} " for number in range(40)]

CHILD = """
import asyncio, sys
from artificer import Agent, RunContext, World, tool
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import TextDelta

class Slow(ScriptedProvider):
    async def generate(self, payload, on_delta):
        if len(self.requests) == 1:
            for number in range(40):
                on_delta(TextDelta(text=f"piece {number} "))
                await asyncio.sleep(float(sys.argv[2]))
        return await super().generate(payload, lambda delta: None)

@tool(effect="pure")
async def work(context: RunContext) -> str:
    "Work."
    for done in range(1, 4):
        context.progress("working", done, 3)
        await asyncio.sleep(0.3)
    return "worked"

async def main():
    script = [reply(call("work")), say("".join(f"piece {n} " for n in range(40)))]
    async with World.open(Config(home=sys.argv[1])) as world:
        agent = Agent(Slow(script), tools=[work], kind="chat")
        print((await world.run("Go.", agent, run_id="slow")).status, flush=True)

asyncio.run(main())
"""


@asynccontextmanager
async def executed(home: Path, pause: float) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that executes the run ``slow``."""
    process = await preloaded.start(
        "-c", CHILD, str(home), str(pause), stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def begun(world: World) -> None:
    """Wait for the run's first record."""
    while "slow" not in await world.archive.runs():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)


async def test_pieces_arrive_in_their_places(tmp_path: Path) -> None:
    async with World.open(Config(home=str(tmp_path))) as world, executed(tmp_path, 0.02):
        await begun(world)
        seen = [event async for event in world.events("slow")]
    kinds = [type(event) for event in seen]
    first, last = kinds.index(events.TextStreamed), kinds.index(events.RunEnded)
    assert events.TurnStarted in kinds[:first] and kinds.count(events.TurnStarted) == 2
    text = "".join(event.text for event in seen if isinstance(event, events.TextStreamed))
    assert text == "".join(PIECES)
    replied = [i for i, kind in enumerate(kinds) if kind is events.ModelReplied]
    assert first < replied[1] < last
    assert replied[1] > max(i for i, kind in enumerate(kinds) if kind is events.TextStreamed)
    progress = [event.done for event in seen if isinstance(event, events.CallProgressed)]
    assert progress and progress[-1] == 3
    assert not (tmp_path / "default" / FOLDER / "slow").exists()


async def test_a_reader_who_reads_nothing_delays_nobody(tmp_path: Path) -> None:
    async with World.open(Config(home=str(tmp_path))) as world, executed(tmp_path, 0) as process:
        await begun(world)
        project = world._resources.project
        assert project is not None
        folder = project / FOLDER / "slow"
        private_folder(folder)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
            with short_path(folder) as short:
                silent.bind(f"{short}/silent")
                silent.listen(1)
                dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                dead.bind(f"{short}/dead")
                dead.close()
            assert process.stdout is not None
            assert (await process.stdout.readline()).strip() == b"completed"
        assert not (folder / "dead").exists()
