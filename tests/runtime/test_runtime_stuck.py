"""A model that repeats itself: it is told, and then its run ends with that reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from test_runtime_snapshot import commits, prefix, same

from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.ports import Answer, Call, Question
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.rerun import rerun
from artificer.runtime.explaining.explanation import explain
from artificer.runtime.load import load
from artificer.runtime.snapshot import keep, restore
from artificer.runtime.watching.observe import Observer
from artificer.storage.memory import MemorySnapshots
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from artificer.values.model import ModelReply

TOLD = "You have made the same calls"
REFUSED = "The same call was refused before."
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "city": {
            "type": "string",
            "pattern": "^[^a-z]+$",
            "description": "The city, in capital letters.",
        }
    },
    "required": ["city"],
    "additionalProperties": False,
}


class Model:
    """Gives the replies of ``turn``, by the number of the request, and keeps what it was sent."""

    def __init__(self, turn: Callable[[int], ModelReply]) -> None:
        self._turn = turn
        self.bodies: list[JsonObject] = []

    def __call__(self, body: JsonObject) -> ModelReply:
        self.bodies.append(body)
        return self._turn(len(self.bodies))

    @property
    def provider(self) -> ScriptedProvider:
        return ScriptedProvider(self)

    def warned(self) -> list[int]:
        """The requests whose last message tells the model that it repeats itself."""
        return [n for n, body in enumerate(self.bodies, 1) if TOLD in self.last(n)]

    def last(self, number: int) -> str:
        """The text of the last message of a request."""
        return messages_of(self.bodies[number - 1])[-1].text

    def answers(self, number: int) -> str:
        """The results that a request ends with, as they are sent."""
        found = [m for m in messages_of(self.bodies[number - 1]) if m.blocks[0].type != "text"]
        return json.dumps(json.loads(found[-1].canonical()))


def again(number: int) -> ModelReply:
    return reply(call("look", place="here"))


@pytest.fixture
def rig() -> Rig:
    async def look(call: Call) -> str:
        return "Nothing."

    rig = Rig()
    rig.tools.add("look", look)
    return rig


async def play(rig: Rig, model: Model, repeats: int | None = 6, **facts: Any) -> RunState:
    limits = Limits(turns=20, repeats=repeats)
    state = await rig.run(model.provider, limits=limits, **facts)
    await proven(rig)
    return state


async def proven(rig: Rig) -> None:
    """The journal replays, and run again it makes the same requests."""
    replayed = await rig.replay()
    assert replayed.identical and not replayed.drift
    loaded = await load(rig.journal, rig.blobs, "run")
    assert unpaired(loaded.state.history) == []
    assert await rerun(loaded, rig.blobs, ScriptedProvider([])) == []


@pytest.mark.req("stuck")
class TestSameCalls:
    async def test_the_model_is_told_and_then_the_run_ends(self, rig: Rig) -> None:
        model = Model(again)
        state = await play(rig, model)
        assert (state.reason, state.turn, len(rig.tools.calls)) == ("stuck", 6, 6)
        assert model.warned() == [4, 5, 6], "after three turns that are alike"
        assert "3 times in a row" in model.last(4) and "5 times" in model.last(6)

    async def test_why_it_ended_is_said(self, rig: Rig) -> None:
        state = await play(rig, Model(again))
        note = rig.deliverable(state).note
        assert "same calls" in note and 'look {"place": "here"}' in note
        assert rig.deliverable(state).status == "failed"
        told = explain(await load(rig.journal, rig.blobs, "run"))
        assert 'look {"place": "here"}' in told.why
        assert any("--steer" in command for command in told.next)

    async def test_what_was_written_is_delivered(self, rig: Rig) -> None:
        def turn(number: int) -> ModelReply:
            return reply(say("So far.").blocks[0], call("look"))

        state = await play(rig, Model(turn))
        assert (state.reason, state.status) == ("stuck", "partial")
        assert rig.deliverable(state).narrative == "So far."

    async def test_a_result_that_differs_is_progress(self, rig: Rig) -> None:
        async def poll(call: Call) -> str:
            return f"{len(rig.tools.calls)} of 9 done"

        rig.tools.add("poll", poll)
        model = Model(lambda n: reply(call("poll")) if n < 10 else say("Done."))
        state = await play(rig, model, repeats=3)
        assert (state.reason, model.warned()) == ("done", [])

    async def test_other_arguments_are_progress(self, rig: Rig) -> None:
        model = Model(lambda n: reply(call("look", n=n)) if n < 10 else say("Done."))
        state = await play(rig, model, repeats=3)
        assert (state.reason, model.warned()) == ("done", [])

    async def test_a_model_that_listens_goes_on(self, rig: Rig) -> None:
        model = Model(lambda n: again(n) if n < 6 else say("There is nothing."))
        state = await play(rig, model)
        assert (state.reason, state.status, model.warned()) == ("done", "completed", [4, 5, 6])

    async def test_something_else_in_between_begins_a_new_count(self, rig: Rig) -> None:
        model = Model(lambda n: reply(call("look", n=n % 5 and 1)) if n < 15 else say("Done."))
        state = await play(rig, model, repeats=5)
        assert state.reason == "done"

    async def test_white_space_and_order_make_no_other_call(self, rig: Rig) -> None:
        forms = ['{"a": 1, "b": 2}', '{"b":2,"a":1}']
        model = Model(
            lambda n: reply(ToolUseBlock(id=f"c{n}", name="look", arguments=forms[n % 2]))
        )
        assert (await play(rig, model)).turn == 6

    async def test_two_turns_that_alternate_are_a_cycle(self, rig: Rig) -> None:
        model = Model(lambda n: reply(call("look", n=n % 2)))
        state = await play(rig, model)
        assert (state.reason, state.turn) == ("stuck", 12)
        assert model.warned()[0] == 7, "after three rounds"

    async def test_without_the_limit_it_goes_on(self, rig: Rig) -> None:
        model = Model(again)
        state = await play(rig, model, repeats=None)
        assert (state.reason, state.turn, model.warned()) == ("turn_limit", 20, [])
        assert state.repeats.turns == ()

    async def test_several_calls_of_a_turn_count_together(self, rig: Rig) -> None:
        model = Model(lambda n: reply(call("look", n=1), call("look", n=n)))
        assert (await play(rig, model)).reason == "turn_limit"

    async def test_a_smaller_limit_tells_once(self, rig: Rig) -> None:
        model = Model(again)
        state = await play(rig, model, repeats=3)
        assert (state.turn, model.warned()) == (3, [3])


@pytest.mark.req("stuck")
class TestPeople:
    async def test_a_note_from_a_person_begins_a_new_count(self, rig: Rig) -> None:
        taken = asyncio.Event()

        class Watcher(Observer):
            def recorded(self, run: str, line: EventLine | IntentLine) -> None:
                if isinstance(line, EventLine) and getattr(line.event, "letter", 0):
                    taken.set()

        async def look(call: Call) -> str:
            if len(rig.tools.calls) == 5:
                await rig.signals.post("run", b'{"type":"steer","text":"Keep looking."}')
                await taken.wait()
            return "Nothing."

        rig.observer = Watcher()
        rig.tools.add("look", look)
        model = Model(again)
        state = await play(rig, model)
        assert (state.reason, state.turn) == ("stuck", 10), "four, and six more"

    async def test_a_follow_up_begins_a_new_count(self, rig: Rig) -> None:
        await play(rig, Model(again))
        await rig.signals.post("run", b'{"type":"follow_up","text":"Again."}')
        model = Model(again)
        state = await rig.resume(model.provider)
        assert (state.reason, len(model.bodies), model.warned()) == ("stuck", 6, [4, 5, 6])
        await proven(rig)

    async def test_what_a_person_denies_again_and_again(self, rig: Rig) -> None:
        class Person:
            reasons = iter(range(99))

            async def ask(self, question: Question) -> Answer:
                return Answer(False, by="alice", reason=f"No, for the {next(self.reasons)}th time.")

        rig.approver = Person()
        policy = Policy(rules=(Rule(decision="ask"),))
        state = await play(rig, Model(again), policy=policy)
        assert (state.reason, state.turn) == ("stuck", 6)

    async def test_a_warning_waits_while_the_run_is_paused(self, rig: Rig) -> None:
        model = Model(again)

        async def look(call: Call) -> str:
            if len(rig.tools.calls) == 3:
                await rig.signals.post("run", b'{"type":"pause"}')
            return "Nothing."

        rig.tools.add("look", look)
        state = await rig.run(model.provider, limits=Limits(repeats=6))
        while state.phase == "paused":
            state = await rig.resume(model.provider)
        assert (state.reason, state.turn) == ("stuck", 6)
        told = [m for m in state.history if TOLD in m.text]
        assert len(told) == 3, "each warning once"
        await proven(rig)


@pytest.mark.req("stuck-refused")
class TestRefused:
    async def test_the_description_of_what_is_wrong_is_repeated(self, rig: Rig) -> None:
        async def weather(call: Call) -> str:
            return "Sun."

        rig.tools.add("weather", weather, schema=SCHEMA)
        model = Model(lambda n: reply(call("weather", city="Paris")))
        state = await play(rig, model)
        assert (state.reason, state.turn, rig.tools.calls) == ("stuck", 6, [])
        assert REFUSED not in model.answers(2)
        assert REFUSED in model.answers(3)
        assert "/city: The city, in capital letters." in model.answers(3)
        assert model.warned() == [4, 5, 6]

    async def test_a_call_that_is_corrected_is_not(self, rig: Rig) -> None:
        async def weather(call: Call) -> str:
            return "Sun."

        rig.tools.add("weather", weather, schema=SCHEMA)
        cities = ["Paris", "paris", "PARIS"]
        model = Model(
            lambda n: reply(call("weather", city=cities[n - 1])) if n < 4 else say("Sun.")
        )
        assert (await play(rig, model)).reason == "done"
        assert REFUSED not in json.dumps(model.bodies[-1])

    @pytest.mark.parametrize(
        ("written", "policy"),
        [
            (ToolUseBlock(id="c", name="none", arguments="{}"), Policy()),
            (ToolUseBlock(id="c", name="look", arguments="{"), Policy()),
            (
                ToolUseBlock(id="c", name="look", arguments="{}"),
                Policy(rules=(Rule(decision="deny"),)),
            ),
        ],
    )
    async def test_unknown_unreadable_and_denied_calls(
        self, rig: Rig, written: ToolUseBlock, policy: Policy
    ) -> None:
        model = Model(lambda n: reply(written))
        state = await play(rig, model, policy=policy)
        assert (state.reason, state.turn) == ("stuck", 6)
        assert REFUSED not in model.answers(2) and REFUSED in model.answers(3)

    async def test_a_call_that_alternates_with_another_is_found(self, rig: Rig) -> None:
        model = Model(lambda n: reply(call("none" if n % 2 else "nothing")))
        state = await play(rig, model)
        assert (state.reason, state.turn) == ("stuck", 12)
        assert REFUSED in model.answers(4)
        assert REFUSED in model.answers(12), "also when it was told that it repeats itself"

    async def test_a_call_that_ran_before_was_not_refused(self, rig: Rig) -> None:
        turns = [reply(call("look")), reply(call("look"), call("look")), say("Done.")]
        model = Model(lambda n: turns[n - 1])
        await play(rig, model)
        assert "duplicate" in model.answers(3) and REFUSED not in model.answers(3)

    async def test_a_run_of_older_rules_reads_what_it_did(self, rig: Rig) -> None:
        model = Model(lambda n: reply(call("none")))
        await play(rig, model, repeats=None, rules=1)
        assert REFUSED not in json.dumps(model.bodies)


@pytest.mark.req("stuck")
async def test_a_snapshot_of_it_is_what_a_full_reduction_comes_to(rig: Rig) -> None:
    await play(rig, Model(again))
    whole = await load(rig.journal, rig.blobs, "run")
    for upto in commits(whole):
        snapshots = MemorySnapshots()
        keep(snapshots, "run", *await prefix(rig, upto), 0)
        restored = await restore(rig.journal, rig.blobs, snapshots, "run")
        same(restored, whole)
        assert restored.kept
