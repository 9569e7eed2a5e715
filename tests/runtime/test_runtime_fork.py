"""Forks: a run that begins with the facts of another one, and replays alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_runtime_properties import SCRIPTS
from test_runtime_properties import World as Driven

from artificer import AuthorError, Limits, OperatorError, World
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core import events as ev
from artificer.core.record import EventLine
from artificer.core.state import RunPhase
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.fork import ForkChanges, origin_of, plan_fork
from artificer.runtime.load import Loaded, load
from artificer.runtime.proving.replay import replay
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.model import ModelFailure, ModelReply

COUNTED: list[int] = []


@tool(effect="once")
async def count(n: int) -> str:
    """Count."""
    COUNTED.append(n)
    return f"counted {n}"


def three_turns() -> ScriptedProvider:
    return ScriptedProvider([reply(call("count", n=1)), reply(call("count", n=2)), say("Two.")])


async def origin(world: World) -> str:
    COUNTED.clear()
    run = await world.run("Count.", Agent(model=three_turns(), tools=[count], kind="chat"))
    assert run.text == "Two." and COUNTED == [1, 2]
    return run.id


async def events_of(world: World, run: str) -> list[tuple[int, ev.Event]]:
    lines = (await world.archive.history(run)).lines
    return [(line.seq, line.event) for line in lines if isinstance(line, EventLine)]


def texts(provider: ScriptedProvider) -> list[str]:
    """Return the texts of the first request, message by message."""
    messages = messages_of(provider.requests[0])
    return [m.text or " ".join(getattr(b, "content", "") for b in m.blocks) for m in messages]


@pytest.mark.req("fork")
class TestForks:
    async def test_the_facts_are_taken_and_no_tool_runs_twice(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            returned = [s for s, e in await events_of(world, run) if isinstance(e, ev.ToolReturned)]
            other = ScriptedProvider([say("Enough.")], name="scripted")
            fork = await world.fork(
                run, Agent(model=other, tools=[count], kind="chat"), ForkChanges(at=returned[0])
            )
            assert (fork.text, fork.status, COUNTED) == ("Enough.", "completed", [1, 2])
            assert texts(other) == ["Count.", "", "counted 1"]
            replayed = await world.archive.replay(fork.id)
            assert replayed.identical and replayed.requests == 3 and replayed.drift == []
            assert (await world.archive.verify()).sound
            assert (await world.get(run)).text == "Two.", "the origin stays as it is"

    async def test_it_says_where_it_comes_from(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            fork = await world.fork(
                run, agent=Agent(model=ScriptedProvider([say("No.")]), tools=[count], kind="chat")
            )
            taken = dict(await events_of(world, fork.id))
            ((seq, forked),) = [(s, e) for s, e in taken.items() if isinstance(e, ev.RunForked)]
            heads = (await world.archive.verify()).heads
            assert forked.origin.run == run and forked.origin.hash != heads[run].hash
            assert forked.origin.seq == seq - 2, "all but the request that is pending there"
            record = (await world._resources.storage.journal.read(run, forked.origin.seq - 1, 1))[0]
            assert forked.origin.hash == record.hash

    async def test_inside_a_turn_the_place_before_it_is_taken(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            events = await events_of(world, run)
            judged = [seq for seq, e in events if isinstance(e, ev.CallsJudged)]
            first = next(seq for seq, e in events if isinstance(e, ev.ToolReturned))
            fork = await world.fork(
                run,
                Agent(model=ScriptedProvider([say("x")]), tools=[count], kind="chat"),
                ForkChanges(at=judged[1]),
            )
            forked = [e for _, e in await events_of(world, fork.id) if isinstance(e, ev.RunForked)]
            assert forked[0].origin.seq == first

    async def test_a_result_can_be_edited(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            seq = next(s for s, e in await events_of(world, run) if isinstance(e, ev.ToolReturned))
            other = ScriptedProvider([say("Oh.")])
            fork = await world.fork(
                run,
                Agent(model=other, tools=[count], kind="chat"),
                ForkChanges(edits={seq: "the disk is full"}),
            )
            assert texts(other) == ["Count.", "", "the disk is full"]
            (forked,) = [e for _, e in await events_of(world, fork.id) if e.type == "RunForked"]
            assert forked.origin.changed == (f"record {seq}",)
            assert (await world.archive.replay(fork.id)).identical

    async def test_another_prompt_begins_anew_or_keeps_the_facts(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            anew, kept = ScriptedProvider([say("a")]), ScriptedProvider([say("b")])
            await world.fork(
                run, Agent(model=anew, tools=[count], kind="chat"), ForkChanges(prompt="Sum.")
            )
            assert texts(anew) == ["Sum."]
            last = len((await world.archive.history(run)).lines)
            fork = await world.fork(
                run,
                Agent(model=kept, tools=[count], kind="chat"),
                ForkChanges(prompt="Sum.", at=last),
            )
            assert texts(kept) == ["Sum.", "", "counted 1", "", "counted 2"]
            assert (await world.archive.replay(fork.id)).identical

    async def test_with_something_new_to_say_a_finished_run_goes_on(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            other = ScriptedProvider([reply(call("count", n=3)), say("Three.")])
            fork = await world.fork(
                run, Agent(model=other, tools=[count], kind="chat"), ForkChanges(steer="One more.")
            )
            assert texts(other)[-2:] == ["Two.", "One more."]
            assert (fork.text, fork.status, COUNTED) == ("Three.", "completed", [1, 2, 3])
            assert (await world.archive.replay(fork.id)).identical

    async def test_what_its_origin_delivered_is_not_its_own(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            gone = ScriptedProvider([ModelFailure(code="unavailable", message="")])
            fork = await world.fork(
                run, Agent(model=gone, tools=[count], kind="chat"), ForkChanges(steer="One more.")
            )
            assert (fork.status, fork.deliverable) == ("stalled", None)

    async def test_a_fork_of_a_fork(self) -> None:
        async with World.in_memory() as world:
            first = await origin(world)
            for word in ("more", "and more"):
                model = ScriptedProvider([say(word)])
                first = (
                    await world.fork(
                        first,
                        Agent(model=model, tools=[count], kind="chat"),
                        ForkChanges(steer=word),
                    )
                ).id
            kinds = [e.type for _, e in await events_of(world, first)]
            assert kinds.count("RunForked") == 2
            assert (await world.archive.replay(first)).identical

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (ForkChanges(at=999), "no record 999"),
            (ForkChanges(edits={1: "x"}), "PromptReceived"),
            (ForkChanges(edits={2: "x"}), "Generate"),
            (Limits(turns=1), "do not fit"),
        ],
    )
    async def test_what_cannot_be_is_told(self, change: ForkChanges | Limits, words: str) -> None:
        agent, options = Agent(model=ScriptedProvider([]), tools=[count], kind="chat"), None
        if isinstance(change, Limits):
            agent = replace(agent, limits=change)
        else:
            options = change
        async with World.in_memory() as world:
            run = await origin(world)
            with pytest.raises((OperatorError, AuthorError), match=words):
                await world.fork(run, agent, options)
            assert await world.archive.runs() == [run], "nothing was recorded"

    async def test_an_edit_behind_the_boundary_is_told(self) -> None:
        async with World.in_memory() as world:
            run = await origin(world)
            seq = [s for s, e in await events_of(world, run) if isinstance(e, ev.ToolReturned)][1]
            with pytest.raises(OperatorError, match=f"Record {seq} cannot be edited"):
                await world.fork(
                    run, Agent(tools=[count], kind="chat"), ForkChanges(at=2, edits={seq: "x"})
                )


@pytest.mark.req("fork-replays")
@given(SCRIPTS, st.sampled_from(["chat", "deliver"]), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_fork_at_any_record_replays(
    script: list[ModelReply | ModelFailure], kind: str, data: st.DataObject
) -> None:
    async def go() -> None:
        driven = Driven(script, set())
        await driven.drive(kind)
        rig = driven.rig
        loaded = await load(rig.journal, rig.blobs, "run")
        at = data.draw(st.integers(1, len(loaded.lines)))
        steer = data.draw(st.sampled_from(["", "Go on."]))
        edited = [
            line.seq
            for line in loaded.lines[: at - 1]
            if isinstance(line, EventLine) and isinstance(line.event, ev.ToolReturned)
        ]
        edits = {seq: "edited" for seq in edited if data.draw(st.booleans())}
        await _fork(rig, loaded, ForkChanges(at, edits, steer))

    asyncio.run(go())


async def _fork(rig: Rig, loaded: Loaded, options: ForkChanges) -> None:
    try:
        plan = plan_fork(loaded.lines, options, loaded.state.run_spec)
    except OperatorError:
        assert options.edits, "without an edit there is always the prompt to go back to"
        return
    given = loaded.state.run_spec
    forked = ev.RunForked(
        at=rig.clock.now(),
        origin=await origin_of(rig.journal, "run", plan, given, given),
        steer=options.steer,
    )
    before = list(rig.tools.calls)
    model = ScriptedProvider(lambda _: say("That is all."))
    state = await rig.engine(model).fork("fork", plan.facts, forked)
    assert state.phase is RunPhase.FINISHED
    assert rig.tools.calls == before
    assert unpaired(state.history) == []
    replayed = await replay(rig.journal, rig.blobs, "fork", model)
    assert replayed.identical and replayed.digest == state.digest, replayed.divergence
