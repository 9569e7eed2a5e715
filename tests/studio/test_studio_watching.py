"""Watching a run: one reader for all who watch, each of whom sees everything once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.broadcasts import MAX_WAITING, TOO_SLOW, Broadcasts, Rendered, Watcher
from artificer.values.model import Delta, TextDelta
from artificer.world import World

pytestmark = pytest.mark.req("studio-watching")


class Gate(ScriptedProvider):
    """Replies when it is opened, after a text that forms in pieces."""

    def __init__(self) -> None:
        super().__init__([reply(call("look", n=1)), say("Done.")])
        self.waiting, self.opened = asyncio.Event(), asyncio.Event()

    async def generate(self, payload: Any, on_delta: Callable[[Delta], None]) -> Any:
        self.waiting.set()
        await self.opened.wait()
        for piece in "one ", "two ", "three":
            on_delta(TextDelta(text=piece))
            await asyncio.sleep(0)
        return await super().generate(payload, on_delta)


@tool(effect="pure")
async def look(n: int) -> str:
    """Look."""
    return "seen"


async def begun(world: World, model: Gate) -> asyncio.Task[Any]:
    agent = Agent(model, kind="chat", tools=[look])
    task = asyncio.create_task(world.run("Look.", agent, run_id="r"))
    await model.waiting.wait()
    return task


async def seen(broadcasts: Broadcasts, after: int = 0) -> str:
    return b"".join([piece async for piece in broadcasts.pieces("r", after)]).decode()


def records(stream: str) -> list[tuple[int, str]]:
    """The events that are recorded, with their numbers, and the last one."""
    found = re.findall(r"^id: (\d+)\nevent: (\w+)$", stream, re.MULTILINE)
    return [(int(seq), kind) for seq, kind in found if kind not in ("text", "arguments")]


def texts(stream: str) -> str:
    found = re.findall(r"^event: text\ndata: (.*)$", stream, re.MULTILINE)
    return "".join(json.loads(data)["text"] for data in found)


async def test_everybody_sees_everything_once() -> None:
    async with World.in_memory() as world:
        model, broadcasts = Gate(), Broadcasts(world)
        task = await begun(world, model)
        watching = [asyncio.create_task(seen(broadcasts)) for _ in range(20)]
        latecomers = broadcasts.pieces("r", 1)
        assert await anext(latecomers) == b"retry: 1000\n\n"
        assert len(broadcasts._broadcasts) == 1
        await broadcasts._broadcasts["r"].reading.wait()
        model.opened.set()
        await task
        streams = await asyncio.gather(*watching)
        alone = records(await seen(broadcasts))
        assert [records(stream) for stream in streams] == [alone] * 20
        assert alone[0] == (1, "run_started") and alone[-1][1] == "run_ended"
        assert len(alone) == len(set(alone))
        assert {texts(stream) for stream in streams} == {"one two threeone two threeDone."}
        rest = b"".join([piece async for piece in latecomers]).decode()
        assert records(rest) == [found for found in alone if found[0] > 1]
        assert not broadcasts._broadcasts and not broadcasts._tasks


async def test_who_comes_again_goes_on_where_it_was() -> None:
    async with World.in_memory() as world:
        model, broadcasts = Gate(), Broadcasts(world)
        model.opened.set()
        await (await begun(world, model))
        whole = records(await seen(broadcasts))
        last = whole[-1]
        for seq, _ in whole:
            expected = [found for found in whole[:-1] if found[0] > seq]
            assert records(await seen(broadcasts, seq)) == [*expected, last]
        assert records(await seen(broadcasts, 2**53)) == [last]


async def test_the_reader_ends_with_the_last_watcher() -> None:
    async with World.in_memory() as world:
        model, broadcasts = Gate(), Broadcasts(world)
        task = await begun(world, model)
        one, other = broadcasts.pieces("r", 0), broadcasts.pieces("r", 0)
        for watcher in one, other:
            await anext(watcher)
        (reader,) = broadcasts._tasks.values()
        await one.aclose()
        assert broadcasts._broadcasts and not reader.done()
        await other.aclose()
        assert not broadcasts._broadcasts
        await asyncio.wait((reader,))
        again = asyncio.create_task(seen(broadcasts))
        model.opened.set()
        await task
        assert records(await again)[-1][1] == "run_ended"


async def test_a_slow_watcher_is_cut_off_and_not_waited_for() -> None:
    watcher = Watcher()
    events = [Rendered(1, True, b"x" * 1_000)]
    for _ in range(MAX_WAITING // 1_000):
        watcher.add(events, 1_000)
    assert not watcher.ended
    watcher.add(events, 1_000)
    assert watcher.ended and watcher.too_slow and watcher.take(0, 0) == b""
    watcher.add(events, 1_000)
    assert watcher.take(0, 0) == b"" and TOO_SLOW.startswith(b": ")
