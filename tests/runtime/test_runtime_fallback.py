"""Falling back: the next model of a list takes over, and the journal says so."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.core import events as ev
from artificer.core.price import Price
from artificer.core.record import EventLine
from artificer.core.signals import FollowUp, Signal
from artificer.core.spec import Fallback, Limits
from artificer.core.state import FailedModel, RunPhase, RunState
from artificer.core.transitions import reduce
from artificer.ports import Call
from artificer.providers.chain import ProviderChain
from artificer.providers.scripted import ScriptedProvider, ScriptedReply, call, reply, say
from artificer.recordings.rerun import rerun
from artificer.runtime.load import load
from artificer.runtime.snapshot import keep, restore
from artificer.runtime.watching.translator import Translator
from artificer.storage.memory import MemorySnapshots
from artificer.testing.rig import Rig
from artificer.values.base import JsonObject
from artificer.values.model import (
    FALLBACK_FAILURES,
    RESUMABLE_FAILURES,
    FailureCode,
    ModelFailure,
    Usage,
)

CODES: tuple[FailureCode, ...] = get_args(FailureCode)
SECOND = Fallback(provider="second", model="n", price=Price(input=1_000_000, output=2_000_000))
THIRD = Fallback(provider="third", model="o", max_tokens=100)
NOBODY = ProviderChain([ScriptedProvider([]), ScriptedProvider([]), ScriptedProvider([])])


class Killed(BaseException):
    """The process is gone."""


def failed(code: str) -> ModelFailure:
    return ModelFailure.from_json({"code": code, "message": "No."})


def models(*scripts: list[ScriptedReply]) -> ProviderChain:
    names = ("scripted", "second", "third")
    return ProviderChain(
        [ScriptedProvider(s, name=n) for s, n in zip(scripts, names, strict=False)]
    )


def asked(chain: ProviderChain) -> list[list[Any]]:
    """The requests to each of the models."""
    return [p.requests for p in chain.providers if isinstance(p, ScriptedProvider)]


@pytest.fixture
def rig() -> Rig:
    async def answer(call: Call) -> str:
        return "42"

    rig = Rig()
    rig.tools.add("look", answer)
    return rig


async def play(rig: Rig, chain: ProviderChain, **facts: Any) -> RunState:
    left = (SECOND, THIRD)[: len(chain.providers) - 1]
    return await rig.run(chain, fallbacks=left, **facts)


async def proven(rig: Rig) -> None:
    """The journal replays, and run again it makes the same requests."""
    replayed = await rig.replay()
    assert replayed.divergence is None and not replayed.drift
    loaded = await load(rig.journal, rig.blobs, "run")
    if not any(getattr(event, "letter", 0) for event in await rig.events()):
        assert await rerun(loaded, rig.blobs, NOBODY) == []


async def post(rig: Rig, signal: Signal) -> None:
    await rig.signals.post("run", signal.canonical())


@pytest.mark.req("fallback-failures")
class TestFailures:
    @pytest.mark.parametrize("code", CODES)
    async def test_each_failure_asks_the_next_model_or_does_what_it_did(
        self, rig: Rig, code: FailureCode
    ) -> None:
        chain = models([failed(code), say("Again.")], [say("Hello.")])
        state = await play(rig, chain, limits=Limits(repairs=0))
        alone = Rig(tools=rig.tools)
        expected = await alone.run([failed(code)], limits=Limits(repairs=0))
        if code in FALLBACK_FAILURES:
            assert (state.last_text, state.run_spec.model, state.turn) == ("Hello.", "n", 1)
            assert state.failed_models == (FailedModel(model="scripted/m", code=code, turn=1),)
            assert (state.failure, state.reason) == (None, "done")
            assert state.cost_micros == 10 + 2 * 5, "the second model's price"
        else:
            assert state.phase is expected.phase and state.reason == expected.reason
            assert state.failure == expected.failure and state.failed_models == ()
            assert asked(chain)[1] == []
        await proven(rig)

    def test_each_failure_that_an_operator_mends_but_budgets_falls_back(self) -> None:
        assert {"budget"} == RESUMABLE_FAILURES - FALLBACK_FAILURES

    @given(codes=st.lists(st.sampled_from(CODES), max_size=4), tools=st.integers(0, 2))
    async def test_whatever_fails_the_list_is_gone_through_once_and_replays(
        self, codes: list[FailureCode], tools: int
    ) -> None:
        async def answer(call: Call) -> str:
            return "42"

        rig = Rig()
        rig.tools.add("look", answer)
        turns: list[ScriptedReply] = [
            *[reply(call("look", n=n)) for n in range(tools)],
            *map(failed, codes),
            say("Done."),
        ]
        shared = iter(turns)
        chain = ProviderChain(
            [ScriptedProvider(lambda _: next(shared), name=n) for n in ("scripted", "b", "c")]
        )
        state = await rig.run(chain, fallbacks=(SECOND, THIRD), limits=Limits(repairs=9))
        fallen = 0
        for code in codes:
            falls = code in FALLBACK_FAILURES and fallen < 2
            fallen += falls
            if not falls and code != "invalid_call":
                break
        assert len(state.failed_models) == fallen == 2 - len(state.run_spec.fallbacks)
        await proven(rig)

    async def test_the_last_model_of_the_list_stalls_as_one_alone_does(self, rig: Rig) -> None:
        chain = models([failed("overloaded")], [failed("auth")])
        state = await play(rig, chain)
        assert (state.phase, state.failure, state.run_spec.model) == (
            RunPhase.STALLED,
            "auth",
            "n",
        )
        again = await rig.resume(models([], [say("Here.")]))
        assert again.last_text == "Here." and again.run_spec.model == "n"
        await proven(rig)


@pytest.mark.req("fallback-requests")
class TestRequests:
    async def test_the_next_model_gets_the_same_conversation_with_its_own_settings(
        self, rig: Rig
    ) -> None:
        chain = models(
            [reply(call("look", n=1)), failed("rate_limited")],
            [failed("timeout")],
            [reply(call("look", n=2)), say("Done.")],
        )
        state = await play(rig, chain)
        first, second, third = asked(chain)
        assert first[1]["messages"] == second[0]["messages"] == third[0]["messages"]
        assert [b["model"] for b in (first[1], second[0], third[0])] == ["m", "n", "o"]
        assert (first[1]["max_tokens"], third[0]["max_tokens"]) == (4096, 100)
        assert third[1]["messages"][: len(third[0]["messages"])] == third[0]["messages"]
        assert state.turn == 3 and len(asked(chain)[0]) == 2
        await proven(rig)

    async def test_a_summary_is_asked_of_the_next_model_before_anything_is_dropped(
        self, rig: Rig
    ) -> None:
        async def read(call: Call) -> str:
            return "x" * 4_000

        rig.tools.add("read", read)
        pages = [reply(call("read", n=n)).replace(usage=Usage()) for n in range(9)]

        def speaks(body: JsonObject) -> ScriptedReply:
            return failed("overloaded") if body["system"] == "Sum up." else pages.pop(0)

        def takes_over(body: JsonObject) -> ScriptedReply:
            return say("What was read.") if body["system"] == "Sum up." else say("Done.")

        chain = ProviderChain([ScriptedProvider(speaks), ScriptedProvider(takes_over)])
        limits = Limits(context_tokens=8_000)
        second = SECOND.replace(context_tokens=8_000)
        state = await rig.run(chain, fallbacks=(second,), limits=limits, compaction="Sum up.")
        assert state.window.summary == "What was read." and state.last_text == "Done."
        assert [f.code for f in state.failed_models] == ["overloaded"]
        assert (await rig.replay()).identical

    async def test_a_price_that_is_too_high_for_the_limit_ends_the_run(self, rig: Rig) -> None:
        dear = SECOND.replace(price=Price(input=10**12, output=10**12))
        chain = models([failed("overloaded")], [say("Hello.")])
        state = await rig.run(
            chain,
            fallbacks=(dear,),
            price=Price(input=1, output=1),
            limits=Limits(cost_micros=1_000),
        )
        assert state.reason == "cost_limit" and asked(chain)[1] == []


@pytest.mark.req("fallback-continues")
class TestContinuing:
    async def test_a_follow_up_begins_with_the_present_model(self, rig: Rig) -> None:
        await play(rig, models([failed("unavailable")], [say("One.")]))
        await post(rig, FollowUp(text="And now?"))
        again = models([], [say("Two.")])
        state = await rig.resume(again)
        assert (state.last_text, len(asked(again)[1])) == ("Two.", 1)
        assert (await rig.replay()).identical

    async def test_killed_after_the_failure_was_recorded_it_goes_on_with_the_next_model(
        self, rig: Rig
    ) -> None:
        def dies(body: JsonObject) -> ScriptedReply:
            raise Killed

        first = ScriptedProvider([reply(call("look", n=1)), failed("overloaded")])
        with pytest.raises(Killed):
            await play(rig, ProviderChain([first, ScriptedProvider(dies)]))
        last = (await rig.events())[-1]
        assert isinstance(last, ev.ModelFailed), "the request of the next model is under way"
        never: list[ScriptedReply] = []
        state = await rig.resume(models(never, [say("Hello.")]))
        assert (state.last_text, state.run_spec.model) == ("Hello.", "n")
        assert (await rig.replay()).identical

    @pytest.mark.parametrize(
        ("held", "phase"),
        [
            (ev.InterruptRequested, RunPhase.FINISHING),
            (ev.PauseRequested, RunPhase.PAUSED),
        ],
    )
    def test_a_run_that_is_to_end_asks_no_other_model_and_a_paused_one_later(
        self, rig: Rig, held: type[Any], phase: RunPhase
    ) -> None:
        words = {"reason": "", "by": "", "letter": 1}
        words |= {"content": ""} if held is ev.InterruptRequested else {}
        failure = ev.ModelFailed(
            at=3, intent=1, code="overloaded", message="", attempts=1, duration_ms=0
        )
        state, _ = reduce(
            RunState(), ev.PromptReceived(at=1, spec=rig.spec(fallbacks=(SECOND,)), release="0")
        )
        state, _ = reduce(state, held(at=2, **words))
        translator = Translator("run")
        translator.resumed(state)
        state, intents = reduce(state, failure)
        assert state.phase is phase and not any(i.type == "Generate" for i in intents)
        line = EventLine(run="run", seq=3, prev="", event=failure, state="")
        changed = [e for e in translator.record(line) if e.type == "model_changed"]
        assert len(changed) == len(state.failed_models) == (phase is RunPhase.PAUSED)
        if phase is RunPhase.PAUSED:
            state, (intent,) = reduce(state, ev.RunResumed(at=4, epoch=2))
            assert intent.type == "Generate" and state.run_spec.model == "n"

    async def test_snapshots_restore_a_run_that_has_fallen_back(self, rig: Rig) -> None:
        await play(rig, models([reply(call("look", n=1)), failed("overloaded")], [say("Done.")]))
        whole = await load(rig.journal, rig.blobs, "run")
        snapshots = MemorySnapshots()
        keep(snapshots, "run", whole.head, whole.state, 0)
        found = await restore(rig.journal, rig.blobs, snapshots, "run")
        assert found.kept == len(whole.state.history) and found.state == whole.state


@pytest.mark.req("fallback-events")
async def test_events_say_that_and_why_the_model_changed(rig: Rig) -> None:
    await play(rig, models([failed("not_found")], [failed("auth")], [say("Hello.")]))
    translator = Translator("run")
    loaded = await load(rig.journal, rig.blobs, "run")
    events = [event for line in loaded.lines for event in translator.record(line)]
    changed = [e for e in events if e.type == "model_changed"]
    assert [(e.failed, f"{e.provider}/{e.model}", e.code) for e in changed] == [
        ("scripted/m", "second/n", "not_found"),
        ("second/n", "third/o", "auth"),
    ]
    assert [e.type for e in events][1:4] == ["turn_started", "model_failed", "model_changed"]
