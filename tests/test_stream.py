"""Streams: the events of a run as they happen, for readers of any speed, from any record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from artificer import events
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core.policy import Policy, Rule
from artificer.core.spec import Limits
from artificer.errors import AuthorError, NotFoundError, OperatorError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run
from artificer.runtime.fork import ForkChanges
from artificer.runtime.watching import feed
from artificer.runtime.watching.feed import Subscription
from artificer.runtime.watching.stream import RunStream
from artificer.values.blocks import TextBlock
from artificer.values.model import ArgumentsDelta, ModelReply, TextDelta
from artificer.world import World


@tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def doubling() -> Agent:
    script = [reply(call("double", number=2)), say("It is 4.")]
    return Agent(ScriptedProvider(script), tools=[double], kind="chat")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World.in_memory() as opened:
        yield opened


@pytest.mark.req("stream-events")
async def test_a_run_tells_its_story_in_order(world: World) -> None:
    async with doubling().stream("Double 2.", world=world) as stream:
        seen = [event async for event in stream]
        run = await stream.result()
    names = [type(event).__name__ for event in seen]
    assert names == [
        "RunStarted",
        "TurnStarted",
        "ArgumentsStreamed",
        "ModelReplied",
        "CallJudged",
        "CallStarted",
        "CallFinished",
        "TurnStarted",
        "TextStreamed",
        "ModelReplied",
        "RunEnded",
    ]
    assert all(a.seq <= b.seq for a, b in pairwise(seen))
    finished = next(event for event in seen if isinstance(event, events.CallFinished))
    assert (finished.tool, finished.status, finished.content) == ("double", "ok", "4")
    last = seen[-1]
    assert isinstance(last, events.RunEnded)
    assert (last.status, last.text, last.usage) == ("completed", run.text, run.usage)


@pytest.mark.req("stream-events")
async def test_the_text_alone_can_be_read(world: World) -> None:
    async with doubling().stream("Double 2.", world=world) as stream:
        assert "".join([piece async for piece in stream.text()]) == "It is 4."
        assert (await stream.result()).status == "completed"


@pytest.mark.req("stream-json")
async def test_every_event_has_a_json_form_and_is_a_server_sent_event(world: World) -> None:
    async with doubling().stream("Double 2.", world=world) as stream:
        async for event in stream:
            assert events.read_event(event.canonical()) == event
            lines = events.sse(event).split(b"\n")
            assert lines[0] == b"id: %d" % event.seq
            assert lines[2] == b"data: " + event.canonical()
            assert lines[3:] == [b"", b""]


@pytest.mark.req("stream-events")
async def test_a_call_that_waits_is_announced_and_can_be_approved(world: World) -> None:
    agent = Agent(
        ScriptedProvider([reply(call("double", number=2)), say("It is 4.")]),
        tools=[double],
        policy=Policy(rules=(Rule(decision="ask"),)),
        kind="chat",
    )
    async with agent.stream("Double 2.", world=world) as stream:
        seen = [event async for event in stream]
    asked = next(event for event in seen if isinstance(event, events.ApprovalRequested))
    last = seen[-1]
    assert isinstance(last, events.RunEnded) and last.status == "waiting"
    assert asked.question in (await world.get(stream.run_id)).questions
    run = await agent.approve(stream.run_id, asked.digest, world=world)
    assert (run.status, run.text) == ("completed", "It is 4.")
    with pytest.raises(NotFoundError, match="No call of run"):
        await agent.approve(run, world=world)


@pytest.mark.req("stream-late")
@pytest.mark.parametrize("after", [0, 1, 5, 1000])
async def test_a_late_reader_starts_at_any_record(world: World, after: int) -> None:
    run = await doubling().run("Double 2.", world=world)
    whole = [event async for event in world.events(run.id)]
    seen = [event async for event in world.events(run.id, after=after)]
    assert seen[:-1] == [event for event in whole[:-1] if event.seq > after]
    assert isinstance(seen[-1], events.RunEnded) and seen[-1].text == "It is 4."
    assert not any(isinstance(event, events.TextStreamed) for event in whole)


@pytest.mark.req("stream-late")
async def test_a_reader_of_no_run_is_told(world: World) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        _ = [event async for event in world.events("nothing")]


@pytest.mark.req("stream-late")
async def test_a_second_reader_joins_while_the_run_goes_on(world: World) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @tool(effect="pure")
    async def hold() -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return "held"

    agent = Agent(ScriptedProvider([reply(call("hold")), say("Done.")]), tools=[hold], kind="chat")
    async with agent.stream("Hold.", world=world) as stream:
        await begun.wait()

        async def read() -> list[events.RunEvent]:
            return [event async for event in world.events(stream.run_id)]

        second = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        go_on.set()
        first = [event async for event in stream]
        late = await second
    recorded = [e for e in first if not isinstance(e, events.TextStreamed | events.RunEnded)]
    recorded = [e for e in recorded if not isinstance(e, events.ArgumentsStreamed)]
    assert [e for e in late[:-1] if not isinstance(e, events.TextStreamed)] == recorded
    assert late[-1] == first[-1]


@pytest.mark.req("stream-late")
async def test_a_fork_can_be_read_from_where_it_begins(world: World) -> None:
    agent = Agent(
        ScriptedProvider([reply(call("double", number=2)), say("It is 4."), say("Four!")]),
        tools=[double],
        kind="chat",
    )
    run = await agent.run("Double 2.", world=world)
    fork = await agent.fork(run, ForkChanges(at=None), world=world, new_id="forked")
    seen = [event async for event in world.events(fork.id, after=7)]
    assert isinstance(seen[-1], events.RunEnded) and seen[-1].text == fork.text == "Four!"


@pytest.mark.req("stream-bounded")
def test_pieces_are_joined_and_what_does_not_fit_is_counted() -> None:
    subscription = Subscription("run")
    for _ in range(10_000):
        subscription.add_piece(TextDelta(text="word "))
    taken, missed = subscription.take()
    assert missed == 0
    assert "".join(item.text for item in taken if isinstance(item, TextDelta)) == "word " * 10_000
    assert len(taken) <= 10_000 * 5 // feed.PIECE + 1
    for number in range(3 * feed.LIMIT):
        subscription.add_piece(ArgumentsDelta(index=number, name="double", text="{"))
    taken, missed = subscription.take()
    assert (len(taken), missed) == (feed.LIMIT, 2 * feed.LIMIT)


@pytest.mark.req("stream-bounded")
async def test_a_reader_who_sleeps_gets_every_record(world: World) -> None:
    turns = feed.LIMIT // 5
    script: list[ModelReply] = [reply(call("double", number=n)) for n in range(turns)]
    agent = Agent(
        ScriptedProvider([*script, say("Done.")]),
        tools=[double],
        kind="chat",
        limits=Limits(turns=turns + 1),
    )
    async with agent.stream("Double.", world=world) as stream:
        run = await stream.result()
        seen = [event async for event in stream]
    whole = [event async for event in world.events(run.id)]
    assert (run.status, whole[-1].seq > feed.LIMIT) == ("completed", True)
    pieces = events.TextStreamed | events.ArgumentsStreamed | events.EventsMissed
    assert [event for event in seen if not isinstance(event, pieces)] == whole
    assert any(isinstance(event, events.EventsMissed) for event in seen)


@pytest.mark.req("stream-leave")
async def test_a_stream_that_is_not_entered_follows_nothing(world: World) -> None:
    """Else what it would hold stays in the world until that is closed."""
    world.stream("Hello.", doubling())
    assert world._resources.feed._readers == {}


@pytest.mark.req("stream-leave")
async def test_leaving_the_block_interrupts_the_run_which_can_be_resumed(world: World) -> None:
    begun = asyncio.Event()

    @tool(effect="pure")
    async def hold(seconds: float) -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(seconds)
        return "held"

    agent = Agent(
        ScriptedProvider([reply(call("hold", seconds=0.5)), say("Done.")]),
        tools=[hold],
        kind="chat",
    )
    async with agent.stream("Hold.", world=world) as stream:
        await begun.wait()
    assert (await world.get(stream.run_id)).status == "open"
    assert (await agent.resume(stream.run_id, world=world)).text == "Done."


@pytest.mark.req("stream-leave")
async def test_a_stream_that_was_left_early_says_how_to_continue_its_run(world: World) -> None:
    agent = doubling()
    async with agent.stream("Double 2.", world=world) as stream:
        async for event in stream:
            if isinstance(event, events.CallStarted):
                break
    for _ in range(2):
        with pytest.raises(OperatorError, match=f"{stream.run_id} was interrupted") as raised:
            await stream.result()
        assert f"agent.resume('{stream.run_id}')" in (raised.value.hint or "")
    with pytest.raises(OperatorError, match="was interrupted"):
        _ = [event async for event in stream]
    assert (await agent.resume(stream.run_id, world=world)).text == "It is 4."


@pytest.mark.req("stream-leave")
@pytest.mark.parametrize("how", ["result", "events"])
async def test_who_is_cancelled_while_reading_ends_no_run(how: str, world: World) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def answer(body: object) -> str:
        begun.set()
        await go.wait()
        return "Done."

    async def read(stream: RunStream[Run]) -> None:
        if how == "result":
            await stream.result()
        else:
            _ = [event async for event in stream]

    agent = Agent(ScriptedProvider(answer), kind="chat")
    async with agent.stream("Go.", world=world) as stream:
        reader = asyncio.create_task(read(stream))
        await begun.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        go.set()
        assert (await stream.result()).text == "Done."


@pytest.mark.req("stream-errors")
async def test_what_the_run_raises_reaches_the_reader(world: World) -> None:
    agent = Agent(ScriptedProvider([]), kind="chat")
    async with agent.stream("Hi.", world=world) as stream:
        with pytest.raises(AuthorError, match="no reply to request"):
            _ = [event async for event in stream]


@pytest.mark.req("agent-methods")
async def test_a_conversation_goes_on_with_follow_ups(world: World) -> None:
    agent = Agent(ScriptedProvider([say("Hello."), say("Still here.")]), kind="chat")
    run = await agent.run("Hi.", world=world)
    run = await agent.follow_up(run, "Are you there?", world=world)
    assert run.text == "Still here."
    texts = [
        block.text for m in run.state.history for block in m.blocks if type(block) is TextBlock
    ]
    assert texts == ["Hi.", "Hello.", "Are you there?", "Still here."]


@pytest.mark.req("agent-methods")
async def test_a_call_can_be_denied_with_a_reason(world: World) -> None:
    agent = Agent(
        ScriptedProvider([reply(call("double", number=2)), say("I may not.")]),
        tools=[double],
        policy=Policy(rules=(Rule(decision="ask"),)),
        kind="chat",
    )
    waiting = await agent.run("Double 2.", world=world)
    run = await agent.deny(waiting, reason="Not today.", by="Ada", world=world)
    assert run.text == "I may not."
    assert run.state.calls == () and "Not today." in str(run.state.history)


@pytest.mark.req("stream-events")
def test_a_script_without_an_event_loop_streams_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARTIFICER_HOME", str(tmp_path))
    agent = Agent(ScriptedProvider([say("One."), say("Two.")]), kind="chat")
    seen = list(agent.stream_sync("Count."))
    assert isinstance(seen[0], events.RunStarted) and isinstance(seen[-1], events.RunEnded)
    assert seen[-1].text == "One."
    left = agent.stream_sync("Count on.")
    first = next(left)
    left.close()
    assert isinstance(agent.resume_sync(first.run), Run)


@pytest.mark.req("stream-events")
async def test_where_a_loop_runs_a_blocking_stream_says_what_to_write() -> None:
    with pytest.raises(AuthorError) as caught:
        next(Agent(ScriptedProvider([]), kind="chat").stream_sync("Hi."))
    assert caught.value.hint == "Write instead: async with agent.stream(…)"
