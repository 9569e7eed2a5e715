"""Conversations that become too long: what is sent, what stands for the rest, what never stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from test_runtime_snapshot import commits, prefix, same

from artificer.contracts.response_format import ResponseFormat
from artificer.core import events as ev
from artificer.core.intents import Compact
from artificer.core.price import Price
from artificer.core.record import EventLine, IntentLine
from artificer.core.signals import Pause
from artificer.core.spec import Limits
from artificer.core.state import RunPhase, RunState
from artificer.ports import Answer, Call, Head, Question, Receipt, Record
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.rerun import rerun
from artificer.runtime.explaining.explanation import explain
from artificer.runtime.load import load
from artificer.runtime.snapshot import keep, restore
from artificer.runtime.watching.observe import Observer
from artificer.storage.memory import MemoryJournal, MemorySnapshots
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.base import JsonObject
from artificer.values.blocks import Message, ReasoningBlock, TextBlock, ToolUseBlock
from artificer.values.model import ModelFailure, ModelReply, Usage

SUMMARISE = "Write a summary."
TOO_LONG = ModelFailure(code="context_overflow", message="prompt is too long")


class Model:
    """Reads once a turn, answers after ``turns``; refuses requests of more than ``fits`` bytes.

    It counts four bytes to a token, as the estimate does not, and writes summaries.
    """

    def __init__(self, turns: int, *, fits: int | None = None, summary: Any = None) -> None:
        self._turns = turns
        self._fits = fits
        self._summary = summary or (lambda number: say(f"Summary {number}."))
        self.bodies: list[JsonObject] = []
        self.summaries: list[JsonObject] = []
        self.refused = 0
        self.made = 0

    def __call__(self, body: JsonObject) -> ModelReply | ModelFailure:
        size = len(json.dumps(body))
        usage = Usage(input_tokens=size // 4, output_tokens=10)
        if body["system"] == SUMMARISE:
            self.summaries.append(body)
            answer = self._summary(len(self.summaries))
        elif self._fits is not None and size > self._fits:
            self.refused += 1
            return TOO_LONG
        else:
            self.bodies.append(body)
            self.made += 1
            answer = self._turn()
        if isinstance(answer, ModelReply):
            answer = answer.replace(usage=usage)
        return answer

    def _turn(self) -> ModelReply:
        if self.made > self._turns:
            return say("Done.")
        thought = ReasoningBlock(provider="scripted", data=f'{{"thought": {self.made}}}')
        return reply(thought, TextBlock(text=f"Step {self.made}."), call("read", n=self.made))

    @property
    def provider(self) -> ScriptedProvider:
        return ScriptedProvider(self)


@pytest.fixture
def rig() -> Rig:
    async def read(call: Call) -> str:
        return f"page {call.arguments['n']}: " + "x" * 4_000

    rig = Rig()
    rig.tools.add("read", read)
    return rig


def conversations(model: Model) -> list[tuple[Message, ...]]:
    return [messages_of(body) for body in model.bodies]


async def compactions(rig: Rig) -> list[ev.ContextCompacted | ev.CompactionFailed]:
    events = await rig.events()
    return [e for e in events if isinstance(e, ev.ContextCompacted | ev.CompactionFailed)]


async def proven(rig: Rig) -> None:
    """The journal replays, and run again it makes the same requests."""
    replayed = await rig.replay()
    assert replayed.divergence is None and not replayed.drift
    loaded = await load(rig.journal, rig.blobs, "run")
    asked = [r for r in loaded.lines if isinstance(r, IntentLine) and r.request]
    assert replayed.requests == len(asked)
    assert await rerun(loaded, rig.blobs, ScriptedProvider([])) == []


async def play(rig: Rig, model: Model, *, context: int | None = None, **facts: Any) -> RunState:
    limits = facts.pop("limits", Limits(turns=60, context_tokens=context))
    facts = {"compaction": SUMMARISE, "prompt": "Read all pages, please.", **facts}
    state = await rig.run(model.provider, limits=limits, **facts)
    for messages in conversations(model):
        assert unpaired(messages) == []
    await proven(rig)
    return state


@pytest.mark.req("context-compaction")
class TestLimit:
    async def test_the_conversation_is_cut_before_it_is_too_long(self, rig: Rig) -> None:
        model = Model(20)
        state = await play(rig, model, context=12_000)
        assert (state.reason, state.turn) == ("done", 21)
        assert max(len(json.dumps(body)) // 4 for body in model.bodies) < 12_000
        assert len(model.summaries) >= 2
        assert len(state.history) == 42, "the whole conversation is kept"

    @pytest.mark.req("context-prefix")
    async def test_it_is_cut_by_half_so_that_what_is_sent_stays_for_some_turns(
        self, rig: Rig
    ) -> None:
        model = Model(40)
        state = await play(rig, model, context=20_000)
        assert state.turn == 41 and 2 <= len(model.summaries) <= 41 // 4

    async def test_what_stands_for_it_is_said_first(self, rig: Rig) -> None:
        model = Model(20)
        state = await play(rig, model, context=12_000)
        last = conversations(model)[-1]
        assert "Read all pages, please." in last[0].text, "in the user's own words"
        assert f"Summary {len(model.summaries)}." in last[0].text
        assert last[1:] == state.history[state.window.start : -1], "the newest turns as they were"
        dropped = json.dumps(model.bodies[-1])
        assert "page 20" in dropped and "page 1:" not in dropped
        thoughts = [b for m in last for b in m.blocks if isinstance(b, ReasoningBlock)]
        assert len(thoughts) == len(last) // 2, "reasoning goes with its turn"

    async def test_a_summary_is_carried_into_the_next_one(self, rig: Rig) -> None:
        model = Model(20)
        await play(rig, model, context=12_000)
        second = messages_of(model.summaries[1])[0].text
        assert '"summary_of_what_was_before":"Summary 1."' in second
        assert "page 1:" not in second, "what was summarised once is not read again"
        assert all(body["tools"] == [] for body in model.summaries)

    async def test_without_a_limit_all_is_sent(self, rig: Rig) -> None:
        model = Model(20)
        state = await play(rig, model)
        assert model.summaries == [] and len(conversations(model)[-1]) == 41
        assert state.window.opening == ""

    async def test_without_a_prompt_for_summaries_the_oldest_turns_are_dropped(
        self, rig: Rig
    ) -> None:
        model = Model(12)
        state = await play(rig, model, context=12_000, compaction="")
        assert state.reason == "done" and model.summaries == []
        assert "no longer shown" in conversations(model)[-1][0].text

    async def test_what_the_last_calls_brought_is_always_read(self, rig: Rig) -> None:
        """Even where the limit is smaller than what must be sent."""
        model = Model(4)
        state = await play(rig, model, context=1_000)
        assert state.reason == "done"
        for number, messages in enumerate(conversations(model)[1:], 1):
            assert f"page {number}:" in messages[-1].canonical().decode()


@pytest.mark.req("context-overflow")
class TestOverflow:
    async def test_the_turn_is_asked_again_with_less(self, rig: Rig) -> None:
        model = Model(20, fits=40_000)
        state = await play(rig, model)
        assert (state.reason, state.turn, state.failure) == ("done", 21, None)
        assert model.refused >= 1 and len(model.summaries) >= 1

    async def test_it_shrinks_until_it_fits(self, rig: Rig) -> None:
        """A model that reads much less than was sent so far."""
        await rig.run(Model(12).provider, limits=Limits(turns=13), compaction=SUMMARISE)
        small = Model(0, fits=9_000)
        await rig.signals.post("run", b'{"type":"follow_up","text":"And in short?"}')
        state = await rig.resume(small.provider)
        assert state.reason == "done" and small.refused >= 2
        starts = [event.upto for event in await compactions(rig)]
        assert starts == sorted(set(starts)), "each time something more is left out"
        assert conversations(small)[-1][-1].text.endswith("And in short?")
        assert (await rig.replay()).identical

    @pytest.mark.req("context-said-last")
    async def test_what_the_user_said_last_is_never_cut(self, rig: Rig) -> None:
        """However little the model reads, until nothing else is left."""
        await rig.run(Model(12).provider, limits=Limits(turns=13), compaction=SUMMARISE)
        await rig.signals.post("run", b'{"type":"follow_up","text":"And in short?"}')
        sent: list[JsonObject] = []

        def refuse(body: JsonObject) -> ModelReply | ModelFailure:
            if body["system"] == SUMMARISE:
                return say("A summary.")
            sent.append(body)
            return TOO_LONG

        state = await rig.resume(ScriptedProvider(refuse))
        assert state.reason == "context_limit" and len(sent) > 2
        assert state.window.start == len(state.history) - 1
        assert all(messages_of(body)[-1].text.endswith("And in short?") for body in sent)

    async def test_a_paused_run_is_not_made_shorter_yet(self, rig: Rig) -> None:
        """Its model refused while the pause came in: what is left out waits until it goes on."""
        model = Model(12, fits=40_000)

        class Pausing(ScriptedProvider):
            async def generate(self, *args: object) -> object:  # type: ignore[override]
                answer = await super().generate(*args)  # type: ignore[arg-type]
                if model.refused == 1:
                    await engine.signals.post("run", Pause().canonical())
                    for _ in range(20):
                        await asyncio.sleep(0)
                return answer

        engine = rig.engine(Pausing(model))
        spec = rig.spec(limits=Limits(turns=60), compaction=SUMMARISE)
        state = await engine.start("run", spec)
        assert (state.standing, model.summaries) == ("paused", [])
        after = await rig.resume(model.provider)
        assert (after.reason, after.turn) == ("done", 13)
        assert model.summaries
        await proven(rig)

    async def test_what_cannot_be_cut_ends_the_run_by_name(self, rig: Rig) -> None:
        model = Model(1, fits=10)
        state = await play(rig, model)
        assert (state.reason, state.status) == ("context_limit", "failed")
        assert "longer than the model can read" in rig.deliverable(state).note

    async def test_a_run_that_wants_no_compaction_ends_as_before(self, rig: Rig) -> None:
        model = Model(20, fits=40_000)
        state = await play(rig, model, compaction="")
        assert (state.reason, state.failure) == ("model_failed", "context_overflow")


@pytest.mark.req("context-failure")
class TestFailure:
    @pytest.mark.parametrize(
        "answer",
        [
            TOO_LONG,
            ModelFailure(code="bad_request", message="no"),
            ModelFailure(code="overloaded", message="no"),
            ModelReply(blocks=(), stop="end_turn"),
            ModelReply(blocks=(TextBlock(text="I cannot help with that."),), stop="refusal"),
            reply(ToolUseBlock(id="x", name="read", arguments="{}")),
        ],
    )
    async def test_the_run_goes_on_without_a_summary(
        self, rig: Rig, answer: ModelReply | ModelFailure
    ) -> None:
        model = Model(12, summary=lambda number: answer)
        state = await play(rig, model, context=12_000)
        assert (state.reason, state.failure) == ("done", None)
        assert len(model.summaries) >= 1
        assert "There is no summary of them" in conversations(model)[-1][0].text
        assert "I cannot help" not in conversations(model)[-1][0].text
        assert "Read all pages, please." in conversations(model)[-1][0].text

    async def test_what_was_dropped_is_in_the_next_summary(self, rig: Rig) -> None:
        first = ModelFailure(code="overloaded", message="no")
        model = Model(20, summary=lambda number: first if number == 1 else say("Better."))
        await play(rig, model, context=12_000)
        assert '"n\\": 1}' in messages_of(model.summaries[1])[0].text.replace("\\\\", "\\")
        assert "Better." in conversations(model)[-1][0].text


@pytest.mark.req("context-budget")
class TestBudget:
    async def test_summaries_are_counted(self, rig: Rig) -> None:
        model = Model(20)
        price = Price(input=1_000_000, output=0)
        state = await play(rig, model, context=12_000, price=price)
        total = sum(len(json.dumps(body)) // 4 for body in (*model.bodies, *model.summaries))
        assert state.usage.input_tokens == state.cost_micros == total

    async def test_a_summary_that_the_budget_does_not_hold_is_not_asked_for(self, rig: Rig) -> None:
        model = Model(60)
        limits = Limits(turns=60, context_tokens=12_000, total_tokens=16_000)
        state = await play(rig, model, limits=limits)
        assert state.reason == "token_limit"
        spent = state.usage.input_tokens + state.usage.output_tokens
        assert spent <= 16_000
        assert model.summaries == []


SAID = "And now. " + "a" * 1_200 + " NEVER DELETE THE BACKUPS. " + "z" * 1_200
"""The important part is in the middle."""


@pytest.mark.req("context-said-last")
class TestSaidLast:
    async def follow(self, rig: Rig, *, rules: int = 2, **facts: Any) -> Model:
        """Finish a run, ask more, and let the model work on that for twelve turns."""
        limits = Limits(turns=60, context_tokens=8_000)
        await rig.run([say("Hello.")], limits=limits, compaction=SUMMARISE, rules=rules, **facts)
        signal = {"type": "follow_up", "text": SAID}
        await rig.signals.post("run", json.dumps(signal).encode())
        model = Model(12)
        state = await rig.resume(model.provider)
        assert state.reason == "done" and state.window.start > 3, "it is out of the window"
        await proven(rig)
        return model

    async def test_a_follow_up_is_whole_in_every_request(self, rig: Rig) -> None:
        model = await self.follow(rig)
        for body in model.bodies:
            assert any(SAID in message.text for message in messages_of(body))

    async def test_a_run_of_older_rules_shortens_it_as_it_did(self, rig: Rig) -> None:
        model = await self.follow(rig, rules=1)
        cut = [body for body in model.bodies if "NEVER DELETE" not in json.dumps(body)]
        assert cut

    async def test_what_is_sent_back_does_not_take_its_place(self, rig: Rig) -> None:
        """A request for repairs is also a text of the user's side."""
        limits = Limits(turns=60, context_tokens=8_000)
        await rig.run([say("Hello.")], limits=limits, compaction=SUMMARISE, kind="deliver")
        signal = {"type": "follow_up", "text": SAID}
        await rig.signals.post("run", json.dumps(signal).encode())
        model, cited = Model(12), [say("See {{artifact:list:none}}.")]
        script = ScriptedProvider(lambda body: cited.pop() if cited else model(body))
        await rig.resume(script)
        assert len(model.bodies) > 6
        sent_back = [m for m in messages_of(model.bodies[0]) if "do not exist" in m.text]
        assert sent_back, "the first answer was sent back"
        for body in model.bodies:
            assert any(SAID in message.text for message in messages_of(body))

    async def test_a_doubt_that_is_resolved_does_not_take_its_place(self, rig: Rig) -> None:
        """It is a note about a call, not what the run is asked to do."""
        taken = signals_taken(rig)

        async def read(call: Call) -> Receipt:
            if call.arguments["n"] == 2:
                doubt = (await load(rig.journal, rig.blobs, "run")).state.doubts[0]
                signal = {"type": "resolve", "call_id": doubt.call_id, "happened": True}
                taken.clear()
                await rig.signals.post("run", json.dumps(signal).encode())
                await taken.wait()
            status = "ambiguous" if call.arguments["n"] == 1 else "ok"
            return Receipt(status=status, content="x" * 4_000)

        rig.tools.add("read", read)
        model = await self.follow(rig)
        texts = [message.text for message in messages_of(model.bodies[2])]
        assert any("a person found out" in text for text in texts)
        for body in model.bodies:
            assert any(SAID in message.text for message in messages_of(body))

    async def test_a_note_takes_the_place_of_the_prompt_but_the_prompt_stays(
        self, rig: Rig
    ) -> None:
        taken = signals_taken(rig)
        prompt = "First. " + "p" * 1_000 + " KEEP THE LOGS. " + "p" * 1_000

        async def read(call: Call) -> str:
            if call.arguments["n"] == 1:
                signal = {"type": "steer", "text": SAID}
                await rig.signals.post("run", json.dumps(signal).encode())
                await taken.wait()
            return "x" * 4_000

        rig.tools.add("read", read)
        model = Model(12)
        state = await play(rig, model, context=9_000, prompt=prompt)
        assert state.window.start > 3
        for body in model.bodies[1:]:
            texts = "\n".join(message.text for message in messages_of(body))
            assert prompt in texts and SAID in texts

    async def test_what_cannot_fit_ends_the_run_and_is_named(self, rig: Rig) -> None:
        model = Model(3)
        prompt = "Do it. " + "p" * 9_000
        state = await play(rig, model, context=2_000, prompt=prompt, system="Be kind.")
        assert (state.reason, state.status, model.bodies) == ("context_limit", "failed", [])
        note = rig.deliverable(state).note
        assert "the prompt (9,007 characters)" in note and "2,000 tokens" in note
        assert note.index("the prompt") < note.index("the instructions (8 characters)")
        told = explain(await load(rig.journal, rig.blobs, "run"))
        assert "artificer run 'PROMPT' --model PROVIDER/MODEL" in told.next
        assert not any("fork" in command for command in told.next), "nothing was asked yet"

    async def test_a_follow_up_that_cannot_fit_is_named(self, rig: Rig) -> None:
        limits = Limits(turns=60, context_tokens=2_000)
        await rig.run([say("Hello.")], limits=limits, compaction=SUMMARISE)
        signal = {"type": "follow_up", "text": "f" * 9_000}
        await rig.signals.post("run", json.dumps(signal).encode())
        state = await rig.resume([])
        assert (state.reason, state.status) == ("context_limit", "failed")
        assert "the last message (9,000 characters)" in rig.deliverable(state).note
        assert (await rig.replay()).identical

    async def test_what_a_provider_refuses_is_named_too(self, rig: Rig) -> None:
        state = await play(rig, Model(1, fits=10))
        assert state.reason == "context_limit"
        assert "the prompt (23 characters)" in rig.deliverable(state).note
        told = explain(await load(rig.journal, rig.blobs, "run"))
        assert "the prompt (23 characters)" in told.why
        assert any("fork" in command for command in told.next)

    async def test_a_long_prompt_leaves_room_for_what_is_done(self, rig: Rig) -> None:
        """The window moves by half of what can move, not at every turn."""
        model = Model(30)
        prompt = "p" * 16_000
        state = await play(rig, model, context=12_000, prompt=prompt)
        assert (state.reason, state.turn) == ("done", 31)
        assert max(len(json.dumps(body)) // 4 for body in model.bodies) < 12_000
        assert len(model.summaries) <= 10, "by half of what cannot move too it would be 14"


class Dies(MemoryJournal):
    """A journal whose process dies before, or just after, one of its appends."""

    dies_at, after = 0, False

    async def append(
        self, run: str, epoch: int, head: Head, records: Sequence[Record], *rest: Any
    ) -> Head:
        self.dies_at -= 1
        if self.dies_at == 0 and not self.after:
            raise Gone
        new = await super().append(run, epoch, head, records, *rest)
        if self.dies_at == 0:
            raise Gone
        return new


class Gone(BaseException):
    """The process is gone."""


@pytest.mark.req("context-crash")
async def test_a_crash_anywhere_leaves_a_run_that_comes_to_the_same(rig: Rig) -> None:
    whole = Model(6)
    facts = {"limits": Limits(turns=60, context_tokens=8_000), "compaction": SUMMARISE}
    expected = await rig.run(whole.provider, **facts)
    appends = 0
    for after in (False, True):
        for dies_at in range(2, 60):
            rig.journal = journal = Dies()
            journal.dies_at, journal.after = dies_at, after
            model = Model(6)
            try:
                state = await rig.run(model.provider, **facts)
                break
            except Gone:
                appends += 1
            model.made = len([e for e in await rig.events() if isinstance(e, ev.ModelResponded)])
            state = await rig.resume(model.provider)
            assert [m.text for m in state.history] == [m.text for m in expected.history]
            assert state.window.start == expected.window.start > 0
            assert (await rig.replay()).identical
            again = len(model.bodies) + len(model.summaries)
            assert again <= len(whole.bodies) + len(whole.summaries) + 1, "one answer was lost"
    assert appends > 20


@pytest.mark.req("context-crash", "context-counted")
@pytest.mark.parametrize(
    ("counted", "form"),
    [
        ("truly", None),
        ("too few", None),
        ("", None),
        ("", ResponseFormat(json_schema='{"type":"object"}')),
    ],
)
async def test_a_snapshot_of_it_is_what_a_full_reduction_comes_to(
    rig: Rig, counted: str, form: ResponseFormat | None
) -> None:
    model = Model(9)

    def answer(body: JsonObject) -> ModelReply | ModelFailure:
        told = model(body)
        if counted and isinstance(told, ModelReply):
            few = told.usage.replace(output_tokens=1)
            return told if counted == "truly" else told.replace(usage=few)
        return told.replace(usage=Usage())

    limits = Limits(turns=60, context_tokens=8_000)
    facts = {"compaction": SUMMARISE, "response_format": form}
    await rig.run(ScriptedProvider(answer), limits=limits, **facts)
    whole = await load(rig.journal, rig.blobs, "run")
    for upto in commits(whole):
        snapshots = MemorySnapshots()
        keep(snapshots, "run", *await prefix(rig, upto), 0)
        restored = await restore(rig.journal, rig.blobs, snapshots, "run")
        same(restored, whole)
        assert restored.kept


def signals_taken(rig: Rig) -> asyncio.Event:
    """Set once the run has taken a signal."""
    taken = asyncio.Event()

    class Watcher(Observer):
        def recorded(self, run: str, line: EventLine | IntentLine) -> None:
            if isinstance(line, EventLine) and getattr(line.event, "letter", 0):
                taken.set()

    rig.observer = Watcher()
    return taken


@pytest.mark.req("context-signals")
class TestSignals:
    async def held_while_compacting(self, rig: Rig, word: str) -> RunState:
        taken = signals_taken(rig)

        class Held(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                if payload.fields["system"] == SUMMARISE:
                    await rig.signals.post("run", json.dumps({"type": word}).encode())
                    await taken.wait()
                return await super().generate(payload, on_delta)

        limits = Limits(turns=60, context_tokens=8_000)
        return await rig.run(Held(Model(6)), limits=limits, compaction=SUMMARISE)

    @pytest.mark.parametrize(("word", "phase"), [("pause", "paused"), ("interrupt", "finished")])
    async def test_held_while_it_is_compacted(self, rig: Rig, word: str, phase: str) -> None:
        state = await self.held_while_compacting(rig, word)
        assert state.phase == RunPhase(phase)
        assert (await rig.replay()).identical

    async def test_it_goes_on_when_it_is_resumed(self, rig: Rig) -> None:
        await self.held_while_compacting(rig, "pause")
        model = Model(0)
        state = await rig.resume(model.provider)
        assert (state.reason, len(model.summaries)) == ("done", 0)
        assert unpaired(conversations(model)[-1]) == []

    async def test_what_was_said_is_kept_word_for_word(self, rig: Rig) -> None:
        taken = signals_taken(rig)

        async def read(call: Call) -> str:
            if call.arguments["n"] == 1:
                await rig.signals.post("run", b'{"type":"steer","text":"Only even pages!"}')
                await taken.wait()
            return "x" * 4_000

        rig.tools.add("read", read)
        model = Model(14)
        limits = Limits(turns=60, context_tokens=12_000)
        await rig.run(model.provider, limits=limits, compaction=SUMMARISE)
        assert len(model.summaries) >= 1
        assert "Only even pages!" in conversations(model)[-1][0].text


@pytest.mark.req("context-taint")
async def test_a_tainted_conversation_stays_tainted(rig: Rig) -> None:
    asked: list[Question] = []

    class Person:
        async def ask(self, question: Question) -> Answer:
            asked.append(question)
            return Answer(False, by="alice")

    async def work(call: Call) -> str:
        return "x" * 4_000

    rig.approver = Person()
    rig.tools.add("fetch", work, trust="untrusted")
    rig.tools.add("send", work, sensitive=True)
    read = [reply(call("read", n=n)) for n in range(9)]
    script = [reply(call("fetch")), *read, reply(call("send")), say("Done.")]
    script = [r.replace(usage=Usage()) for r in script]
    answers = iter(script)
    model = ScriptedProvider(
        lambda body: say("Summary.") if body["system"] == SUMMARISE else next(answers)
    )
    limits = Limits(turns=60, context_tokens=12_000)
    state = await rig.run(model, limits=limits, compaction=SUMMARISE)
    assert state.window.start > 2, "the untrusted result is no longer sent"
    assert state.taint is not None and state.taint.tool == "fetch"
    assert [question.tool for question in asked] == ["send"]


@pytest.mark.req("context-compaction")
async def test_the_intent_says_what_is_left_out(rig: Rig) -> None:
    model = Model(12)
    await play(rig, model, context=12_000)
    loaded = await load(rig.journal, rig.blobs, "run")
    intents = [r.intent for r in loaded.lines if isinstance(r, IntentLine)]
    (first, *_) = [i for i in intents if isinstance(i, Compact)]
    (done, *_) = await compactions(rig)
    assert (first.n, first.upto) == (done.intent, done.upto)
    assert isinstance(done, ev.ContextCompacted) and done.summary in done.content
