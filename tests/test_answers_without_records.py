"""Calls that the rules answer, as no record does: everybody shows them as the model reads them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from artificer import Agent, Policy, Rule, Run, ScriptedProvider, World, tool
from artificer.core.record import EventLine, Line
from artificer.core.signals import Cancel, Interrupt
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.events import CallFinished
from artificer.providers.scripted import call, reply, say
from artificer.recordings.recording import read_recording
from artificer.runtime.load import Loaded, load
from artificer.runtime.turns import turns_of
from artificer.runtime.watching.translator import Translator
from artificer.studio.transcript import transcript
from artificer.values.blocks import ToolResultBlock

pytestmark = pytest.mark.req("answers-without-records")

RECORDINGS = {
    file.stem: file.read_bytes()
    for file in sorted((Path(__file__).parent / "journals").glob("*.jsonl"))
}

ASK = Policy(rules=(Rule(decision="ask", tool="pay"),))

Answers = dict[str, tuple[str, str]]
"""The status and the text of each answer, by the id of the call."""


@tool
async def pay(amount: int) -> str:
    """Pay an amount."""
    return f"Paid {amount}."


def talker(*script: Any, **options: Any) -> Agent:
    return Agent(ScriptedProvider(list(script)), kind="chat", **options)


def read_by_the_model(state: RunState) -> Answers:
    blocks = [block for message in state.history for block in message.blocks]
    return {
        block.tool_use_id: (block.status, block.content)
        for block in blocks
        if isinstance(block, ToolResultBlock)
    }


def streamed(translator: Translator, lines: Iterable[Line]) -> Answers:
    events = [event for line in lines for event in translator.record(line)]
    ended = [event for event in events if isinstance(event, CallFinished)]
    assert len({event.call_id for event in ended}) == len(ended), "a call ends once"
    return {event.call_id: (event.status, event.content) for event in ended}


async def check_all_show(world: World, run: Run[Any], *statuses: str) -> None:
    """Check what explain, the page and the stream say of the calls of the first turn."""
    read = read_by_the_model(run.state)
    assert [status for status, _ in read.values()] == [*statuses]
    explained = await world.archive.explain(run.id)
    assert explained.answers == {status: statuses.count(status) for status in statuses}
    shown = transcript(run.events).turns[0].calls
    assert {view.id: (view.status, view.content) for view in shown} == read
    assert streamed(Translator(run.id), (await world.archive.history(run.id)).lines) == read


@pytest.mark.parametrize("how", ["cancel", "signal", "interrupt"])
async def test_a_call_that_waits_for_a_person_when_the_run_is_ended(how: str) -> None:
    agent = talker(reply(call("pay", amount=1)), tools=[pay], policy=ASK)
    async with World.in_memory() as world:
        run = await agent.run("Pay.", world=world)
        assert (await world.archive.explain(run.id)).answers == {"open": 1}
        if how == "cancel":
            run = await world.cancel(run.id, "Enough.")
        else:
            await world.send(run.id, Cancel() if how == "signal" else Interrupt())
            run = await agent.resume(run, world=world)
        await check_all_show(world, run, "cancelled")


async def test_a_call_that_waits_while_another_one_ends() -> None:
    async with World.in_memory() as world:

        @tool
        async def interrupt() -> str:
            """Interrupt the run, which notices when this ends."""
            await world.send("r", Interrupt())
            return "Sent."

        both = reply(call("pay", amount=1), call("interrupt"))
        agent = talker(both, tools=[pay, interrupt], policy=ASK)
        run = await agent.run("Pay.", world=world, run_id="r")
        assert run.reason == "interrupted"
        await check_all_show(world, run, "cancelled", "ok")


async def test_a_call_of_a_run_that_waits() -> None:
    clerk = talker(reply(call("pay", amount=1)), tools=[pay], policy=ASK)
    agent = talker(reply(call("clerk", prompt="Pay.")), tools=[clerk.as_tool("clerk", "Pays.")])
    async with World.in_memory() as world:
        run = await agent.run("Pay.", world=world)
        await world.send(run.id, Interrupt())
        await check_all_show(world, await agent.resume(run, world=world), "cancelled")


async def test_the_second_of_two_handoffs() -> None:
    agents = {name: talker(say(f"I am {name}.")) for name in ("billing", "sales")}
    both = reply(*(call(f"transfer_to_{name}", prompt="Help.") for name in agents))
    agent = talker(both, tools=[one.as_handoff(name, "Helps.") for name, one in agents.items()])
    async with World.in_memory() as world:
        run = await agent.run("Both!", world=world)
        assert run.text == "I am billing."
        await check_all_show(world, run, "ok", "cancelled")


async def test_a_denied_call_is_not_cancelled_as_well() -> None:
    agent = talker(reply(call("pay", amount=1)), say("A pity."), tools=[pay], policy=ASK)
    async with World.in_memory() as world:
        run = await agent.run("Pay.", world=world)
        run = await agent.deny(run, reason="No.", world=world)
        assert not [event for event in run.events if isinstance(event, CallFinished)]
        assert (await world.archive.explain(run.id)).answers == {"denied": 1}


async def recorded(name: str) -> Loaded:
    recording = await read_recording(RECORDINGS[name])
    return await load(recording.journal, recording.blobs, recording.run)


@pytest.mark.parametrize("name", RECORDINGS)
async def test_every_call_of_a_recorded_run_has_the_status_that_the_model_read(name: str) -> None:
    run = await recorded(name)
    read = read_by_the_model(run.state)
    for each in (each for turn in turns_of(run) for each in turn.calls):
        assert each.status == (read[each.call_id][0] if each.call_id in read else "")
    for call_id, answer in streamed(Translator(run.run), run.lines).items():
        assert answer[0] == read[call_id][0]


@pytest.mark.parametrize("name", RECORDINGS)
async def test_who_comes_later_is_told_the_same(name: str) -> None:
    run = await recorded(name)
    state = RunState()
    for number, line in enumerate(run.lines, 1):
        if isinstance(line, EventLine):
            state, _ = reduce(state, line.event)
        later = run.lines[number:]
        if later and isinstance(later[0], EventLine):  # else its intents were not passed
            late, rest = Translator(run.run), Translator(run.run)
            late.resumed(state)
            for before in run.lines[:number]:
                list(rest.record(before))
            assert streamed(late, later) == streamed(rest, later)
