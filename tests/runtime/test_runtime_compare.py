"""Two runs side by side, and one run in a few facts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from test_runtime_properties import SCRIPTS, Crash
from test_runtime_properties import World as Driven

from artificer import Limits, Policy, Rule, World
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.explaining.explanation import explain
from artificer.runtime.load import load
from artificer.runtime.proving.compare import compare
from artificer.values.model import ModelFailure, ModelReply

REFUSED = ModelFailure(code="bad_request", message="no such parameter")

DATA = '\n[Data: double#1 · values at "" (number)]'


@tool(effect="pure")
async def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


async def run(world: World, *script: ModelReply | ModelFailure, **facts: Any) -> str:
    prompt = facts.pop("prompt", "Go.")
    agent = Agent(model=ScriptedProvider(list(script)), tools=[double], **facts)
    done = await world.run(prompt, agent)
    return done.id


@pytest.mark.req("diff")
class TestDiff:
    async def test_the_same_twice(self) -> None:
        async with World.in_memory() as world:
            script = (reply(call("double", n=2)), say("Four."))
            found = await world.archive.diff(await run(world, *script), await run(world, *script))
            assert found.same and found.first is None and found.settings == ()

    async def test_the_first_difference_and_each_after_it(self) -> None:
        async with World.in_memory() as world:
            one = await run(world, reply(call("double", n=2)), say("Four."))
            other = await run(world, reply(call("double", n=3)), say("Six."), say("-"))
            found = await world.archive.diff(one, other)
            assert found.first and (found.first.a, found.first.b) == (3, 3)
            assert found.first.what == "ModelResponded: blocks"
            told = {d.what: (d.a, d.b) for turn in found.turns for d in turn.differences}
            assert told == {
                "call 1 double: arguments": ('{"n":2}', '{"n":3}'),
                "call 1 double: result": (f"4{DATA}", f"6{DATA}"),
                "text": ("Four.", "Six."),
            }
            assert [turn.turn for turn in found.turns] == [1, 2]
            assert [(d.what, d.a, d.b) for d in found.deliverable] == [
                ("narrative", "Four.", "Six.")
            ]

    async def test_prompt_settings_verdicts_and_missing_turns(self) -> None:
        async with World.in_memory() as world:
            deny = Policy(rules=(Rule(decision="deny", tool="double"),))
            one = await run(world, reply(call("double", n=2)), say("Four."))
            other = await run(
                world, reply(call("double", n=2)), say("No."), prompt="Do.", policy=deny
            )
            short = await run(world, say("Four."))
            found = await world.archive.diff(one, other)
            assert [d.what for d in found.prompt] == ["prompt"]
            assert "policy" in [d.what for d in found.settings]
            whats = [d.what for turn in found.turns for d in turn.differences]
            assert "call 1 double: verdict" in whats and "call 1 double: status" in whats
            gone = (await world.archive.diff(one, short)).turns[-1]
            assert (gone.turn, gone.differences[0].what, gone.differences[0].b) == (2, "turn", None)

    async def test_a_fork_is_the_same_up_to_its_boundary(self) -> None:
        async with World.in_memory() as world:
            one = await run(world, reply(call("double", n=2)), say("Four."))
            fork = await world.fork(
                one, agent=Agent(model=ScriptedProvider([say("4")]), tools=[double], kind="chat")
            )
            found = await world.archive.diff(one, fork.id)
            assert [turn.turn for turn in found.turns] == [2]
            assert found.first and found.first.what == "ModelResponded: blocks"

    async def test_artifacts_are_compared_by_what_is_in_them(self) -> None:
        async with World.in_memory() as world:
            made = [
                await run(
                    world,
                    reply(call("create_list", list={"kind": "list", "id": "l", "items": [item]})),
                    say("# L\n\n{{artifact:list:l}}"),
                    kind="deliver",
                )
                for item in ("a", "b")
            ]
            found = {d.what: d for d in (await world.archive.diff(*made)).deliverable}
            assert '"a"' in found["list:l"].a and '"b"' in found["list:l"].b


@pytest.mark.req("diff")
@given(SCRIPTS, SCRIPTS)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_two_runs_can_be_compared_and_each_is_the_same_as_itself(
    script: list[ModelReply | ModelFailure], other: list[ModelReply | ModelFailure]
) -> None:
    async def go() -> None:
        loaded = []
        for one in (script, other):
            driven = Driven(one, set())
            await driven.drive("chat")
            loaded.append((await load(driven.rig.journal, driven.rig.blobs, "run"), driven.rig))
            explain(loaded[-1][0])
        (a, rig), (b, _) = loaded
        assert compare(a, a, rig.blobs).same
        found, back = compare(a, b, rig.blobs), compare(b, a, rig.blobs)
        assert found.same == back.same
        assert [t.turn for t in found.turns] == [t.turn for t in back.turns]
        assert (found.first is None) <= (not found.turns)
        assert (a.state.history_digest == b.state.history_digest) or not found.same

    asyncio.run(go())


@pytest.mark.req("explain")
class TestExplain:
    async def test_a_finished_run(self) -> None:
        async with World.in_memory() as world:
            deny = Policy(rules=(Rule(decision="deny", tool="double", reason="No sums."),))
            script = (reply(call("double", n=2)), reply(call("double", n=3), call("no")), say("-"))
            told = await world.archive.explain(await run(world, *script, policy=deny, kind="chat"))
            assert (told.stands, told.turn, told.pending) == ("completed", 3, ())
            assert told.answers == {"denied": 2, "unknown_tool": 1}
            first, second = told.refused
            assert (first.tool, first.verdict, first.turns) == ("double", "denied", (1, 2))
            assert (first.rule, first.reason) == ("rule 1", "No sums.")
            assert second.verdict == "unknown_tool"

    async def test_what_stalls_and_what_goes_on(self) -> None:
        async with World.in_memory() as world:
            failure = ModelFailure(code="rate_limited", message="slow down")
            stalled = await run(world, failure)
            told = await world.archive.explain(stalled)
            assert (told.stands, told.phase) == ("stalled", "stalled")
            assert "rate_limited: slow down" in told.why
            assert told.next[0] == f"artificer resume {stalled} --agent MODULE:NAME"
            plain = await world.run("Hi.", Agent(ScriptedProvider([failure]), kind="chat"))
            assert (await world.archive.explain(plain.id)).next[0] == f"artificer resume {plain.id}"

    @pytest.mark.parametrize(
        ("script", "facts", "why", "then"),
        [
            (
                [reply(call("double", n=1))],
                {"limits": Limits(turns=1)},
                "all its turns",
                "--max-turns",
            ),
            ([REFUSED], {}, "no such parameter", "--model"),
        ],
    )
    async def test_what_ended_it_and_what_may_mend_it(
        self, script: list[Any], facts: dict[str, Any], why: str, then: str
    ) -> None:
        async with World.in_memory() as world:
            told = await world.archive.explain(await run(world, *script, **facts))
            assert why in told.why and then in told.next[0]

    async def test_what_is_pending_is_told(self) -> None:
        driven = Driven([reply(call("once"), call("asked"))], {(3, "before"), (4, "before")})
        rig = driven.rig
        with pytest.raises(Crash):
            await rig.run(
                ScriptedProvider(driven.answer),
                policy=Policy(rules=(Rule(tool="asked", decision="ask"),)),
            )
        told = explain(await load(rig.journal, rig.blobs, "run"))
        assert told.stands == "open" and "interrupted" in told.why
        assert [text.split()[0] for text in told.pending] == ["the", "a"]
        assert "once {}" in told.pending[0] and "asked {}" in told.pending[1]
        assert json.dumps(told.pending)
