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
from artificer.events import EventsMissed, TextStreamed, TurnStarted
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.broadcasts import MAX_WAITING, TOO_SLOW, Broadcasts, Rendered, Watcher
from artificer.studio.forming import MAX_FORMING, MAX_PIECES, Forming
from artificer.values.model import ArgumentsDelta, Delta, ReasoningDelta, TextDelta
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


class Forms(ScriptedProvider):
    """Streams text, reasoning and a call, and replies when it is let."""

    def __init__(self) -> None:
        super().__init__([say("The sea.")])
        self.asked, self.begun, self.opened = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def generate(self, payload: Any, on_delta: Callable[[Delta], None]) -> Any:
        self.asked.set()
        await self.begun.wait()
        on_delta(ReasoningDelta(text="Let me see. "))
        for piece in "The ", "sea":
            on_delta(TextDelta(text=piece))
        on_delta(ArgumentsDelta(index=0, name="look", text='{"n": 1'))
        await self.opened.wait()
        on_delta(TextDelta(text="."))
        return await super().generate(payload, lambda _: None)


@pytest.mark.req("studio-late")
async def test_who_comes_late_sees_what_has_formed() -> None:
    async with World.in_memory() as world:
        executed = {"r"}
        model, broadcasts = Forms(), Broadcasts(world, executed.__contains__)
        agent = Agent(model, kind="chat")
        task = asyncio.create_task(world.run("Look.", agent, run_id="r"))
        await model.asked.wait()
        first = broadcasts.pieces("r", 0)
        stream = await anext(first)
        await broadcasts._broadcasts["r"].reading.wait()
        model.begun.set()
        while b"event: arguments" not in stream:
            stream += await anext(first)
        await first.aclose()
        assert set(broadcasts._broadcasts) == {"r"}  # it is executed here, and read on
        late = broadcasts.pieces("r", 2)
        stream = b""
        while b"event: arguments" not in stream:
            stream += await anext(late)
        assert texts(stream.decode()) == "The sea" and b"Let me see. " in stream
        model.opened.set()
        await task
        async for piece in late:
            stream += piece
        assert texts(stream.decode()) == "The sea."
        assert texts(await seen(broadcasts)) == ""  # it is recorded now
        assert not broadcasts._broadcasts and not broadcasts._tasks


@pytest.mark.req("studio-late")
async def test_a_reader_without_watchers_ends_when_its_run_is_not_executed_here() -> None:
    async with World.in_memory() as world:
        executed = {"r"}
        model, broadcasts = Gate(), Broadcasts(world, executed.__contains__)
        task = await begun(world, model)
        broadcasts.keep("r")
        executed.clear()
        other = broadcasts.pieces("none", 0)
        await anext(other)
        assert set(broadcasts._broadcasts) == {"none"}
        await other.aclose()
        model.opened.set()
        await task


@pytest.mark.req("studio-late")
def test_what_is_kept_for_latecomers_is_bounded() -> None:
    forming = Forming()
    for _ in range(MAX_FORMING // 1_000 + 50):
        forming.add(TextStreamed(run="r", seq=2, text="x" * 1_000))
    kept = [event for event in forming.events if isinstance(event, TextStreamed)]
    assert sum(len(event.text) for event in kept) == MAX_FORMING
    assert [event for event in forming.events if event not in kept] == [
        EventsMissed(run="r", seq=2, count=1)
    ]
    forming.add(TurnStarted(run="r", seq=3, turn=2))
    assert forming.events == []
    for seq in range(2 * MAX_PIECES):
        forming.add(TextStreamed(run="r", seq=seq, text="x"))
    assert len(forming.events) == MAX_PIECES + 1
