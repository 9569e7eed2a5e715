"""Signals: people have a say in a run, whichever process drives it, each exactly once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from artificer.core import events as ev
from artificer.core.intents import AskApproval
from artificer.core.policy import Policy, Rule
from artificer.core.signals import (
    AnswerCall,
    Cancel,
    FollowUp,
    Interrupt,
    Pause,
    Resolve,
    Signal,
    Steer,
)
from artificer.core.spec import Limits
from artificer.core.state import RunPhase, RunState
from artificer.errors import OperatorError
from artificer.ports import MAX_SIGNALS, Answer, Call, Question, Signals
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.proving.verify import verify
from artificer.storage.memory import MemoryJournal, MemorySignals
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.blocks import ToolResultBlock
from artificer.values.model import ModelFailure

ASK = Policy(rules=(Rule(decision="ask", tool="asked", reason="It costs money."),))


class Gate:
    """A tool that says when it has begun, and ends when it is let."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, call: Call) -> str:
        self.begun.set()
        await self.go.wait()
        return "done"


@pytest.fixture
def rig() -> Rig:
    async def work(call: Call) -> str:
        return f"did {call.arguments}"

    rig = Rig()
    rig.tools.add("work", work)
    rig.tools.add("asked", work, effect="once")
    return rig


async def post(rig: Rig, *sent: Signal, run: str = "run") -> None:
    for signal in sent:
        await rig.signals.post(run, signal.canonical())


def statuses(state: RunState) -> list[str]:
    return [
        block.status
        for message in state.history
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]


def digest_of_question(state: RunState) -> str:
    (digest,) = [c.verdict.digest for c in state.calls if c.verdict and c.status is None]
    assert digest is not None
    return digest


async def held(rig: Rig) -> None:
    """Check what holds for every run."""
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


@pytest.mark.req("approval-durable")
class TestApproval:
    async def waiting(self, rig: Rig) -> RunState:
        state = await rig.run([reply(call("asked", x=1), call("work", x=2))], policy=ASK)
        assert state.standing == "waiting"
        assert [c.arguments for c in rig.tools.calls] == [{"x": 2}], "the other call was performed"
        return state

    @pytest.mark.parametrize("approved", [True, False])
    async def test_an_answer_from_elsewhere_lets_the_run_go_on(
        self, rig: Rig, approved: bool
    ) -> None:
        state = await self.waiting(rig)
        digest = digest_of_question(state)
        await post(rig, AnswerCall(by="alice", call=digest, approved=approved, reason="So."))
        provider = ScriptedProvider([say("Thanks.")])
        after = await rig.resume(provider)
        assert after.status == "completed"
        assert statuses(after) == ["ok" if approved else "denied", "ok"]
        (answer,) = [e for e in await rig.events() if isinstance(e, ev.ApprovalAnswered)]
        assert (answer.by, answer.reason, answer.letter) == ("alice", "So.", 1)
        if not approved:
            assert "So." in str(messages_of(provider.requests[0]))
        await held(rig)

    async def test_it_waits_again_when_nobody_has_answered(self, rig: Rig) -> None:
        await self.waiting(rig)
        for _ in range(3):
            assert (await rig.resume([])).standing == "waiting"
        assert len(rig.tools.calls) == 1

    async def test_an_answer_is_for_one_call_and_used_once(self, rig: Rig) -> None:
        state = await self.waiting(rig)
        digest = digest_of_question(state)
        other = "sha256:" + "0" * 64
        yes = AnswerCall(call=digest, approved=True)
        await post(rig, AnswerCall(call=other, approved=True), yes, yes)
        script = [reply(call("asked", x=1)), say(".")]
        after = await rig.resume(script)
        assert after.standing == "waiting", "the same call, made again, is asked about again"
        ignored = [e for e in await rig.events() if isinstance(e, ev.ReceiptIgnored)]
        assert [e.letter for e in ignored] == [1, 3]
        assert len(rig.tools.calls) == 2
        await held(rig)

    async def test_a_signal_answers_before_the_person_who_is_asked_here(self, rig: Rig) -> None:
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        class Slow:
            async def ask(self, question: Question) -> Answer:
                asked.set()
                try:
                    await asyncio.sleep(3600)
                finally:
                    withdrawn.set()
                raise AssertionError

        rig = replace(rig, approver=Slow())
        engine = rig.engine(ScriptedProvider([reply(call("asked", x=1)), say(".")]))
        driving = asyncio.ensure_future(engine.start("run", rig.spec(policy=ASK)))
        await asked.wait()
        (event,) = [e for e in await rig.events() if isinstance(e, ev.CallsJudged)]
        digest = event.verdicts[0].digest
        assert digest is not None
        await engine.signals.post("run", AnswerCall(call=digest, approved=True).canonical())
        assert (await driving).status == "completed"
        assert withdrawn.is_set()

    async def test_an_answer_given_here_after_a_signal_s_is_recorded_as_too_late(
        self, rig: Rig
    ) -> None:
        asked = asyncio.Event()

        class Late:
            async def ask(self, question: Question) -> Answer:
                asked.set()
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(3600)
                return Answer(approved=False, by="ada", reason="Too dear.")

        rig = replace(rig, approver=Late())
        engine = rig.engine(ScriptedProvider([reply(call("asked", x=1)), say(".")]))
        driving = asyncio.ensure_future(engine.start("run", rig.spec(policy=ASK)))
        await asked.wait()
        lines = (await load(rig.journal, rig.blobs, "run")).lines
        question = next(
            line.intent
            for line in lines
            if line.kind == "intent" and isinstance(line.intent, AskApproval)
        )
        await engine.signals.post("run", AnswerCall(call=question.call, approved=True).canonical())
        assert statuses(await driving) == ["ok"]
        (ignored,) = [e for e in await rig.events() if isinstance(e, ev.ReceiptIgnored)]
        assert (ignored.what, ignored.intent) == ("ApprovalAnswered", question.n)
        await held(rig)

    async def test_what_waits_holds_no_task_and_no_thread(self, rig: Rig) -> None:
        before = asyncio.all_tasks()
        await self.waiting(rig)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before


@pytest.mark.req("run-steer")
class TestSteer:
    async def test_is_told_before_the_next_reply_and_once(self, rig: Rig) -> None:
        gate = Gate()
        rig.tools.add("gate", gate)
        provider = ScriptedProvider([reply(call("gate")), reply(call("work")), say("Done.")])
        engine = rig.engine(provider)
        driving = asyncio.ensure_future(engine.start("run", rig.spec()))
        await gate.begun.wait()
        await engine.signals.post("run", Steer(by="bob", text="Leave out the prices.").canonical())
        gate.go.set()
        assert (await driving).status == "completed"
        said = [str(messages_of(r)).count("Leave out the prices.") for r in provider.requests]
        assert said == [0, 1, 1]
        assert all(unpaired(messages_of(request)) == [] for request in provider.requests)
        await held(rig)

    async def test_an_answer_that_was_just_accepted_is_asked_for_again(self, rig: Rig) -> None:
        class Speaking(ScriptedProvider):
            async def generate(self, *args: object) -> object:  # type: ignore[override]
                if len(self.requests) == 0:
                    await engine.signals.post("run", Steer(text="Shorter.").canonical())
                    for _ in range(20):
                        await asyncio.sleep(0)
                return await super().generate(*args)  # type: ignore[arg-type]

        engine = rig.engine(Speaking([say("A long answer."), say("Short.")]))
        state = await engine.start("run", rig.spec())
        assert (state.narrative, state.turn) == ("Short.", 2)
        await held(rig)

    async def test_a_finished_run_is_not_steered(self, rig: Rig) -> None:
        await rig.run([say("Done.")])
        await post(rig, Steer(text="Too late."))
        assert (await rig.resume([])).narrative == "Done."
        assert [e.what for e in await rig.events() if isinstance(e, ev.ReceiptIgnored)] == ["steer"]


@pytest.mark.req("run-pause")
class TestPause:
    async def test_what_is_under_way_ends_and_nothing_begins(self, rig: Rig) -> None:
        gate = Gate()
        rig.tools.add("gate", gate)
        engine = rig.engine(ScriptedProvider([reply(call("gate"))]))
        driving = asyncio.ensure_future(engine.start("run", rig.spec()))
        await gate.begun.wait()
        await engine.signals.post("run", Pause(reason="Lunch.").canonical())
        gate.go.set()
        state = await driving
        assert (state.standing, state.turn, statuses(state)) == ("paused", 1, ["ok"])
        after = await rig.resume([say("Done.")])
        assert (after.status, after.turn) == ("completed", 2)
        await held(rig)

    async def test_paused_while_the_model_speaks_its_calls_wait(self, rig: Rig) -> None:
        class Speaking(ScriptedProvider):
            async def generate(self, *args: object) -> object:  # type: ignore[override]
                await engine.signals.post("run", Pause().canonical())
                for _ in range(20):
                    await asyncio.sleep(0)
                return await super().generate(*args)  # type: ignore[arg-type]

        engine = rig.engine(Speaking([reply(call("work", x=1), call("nothing"))]))
        state = await engine.start("run", rig.spec())
        assert (state.standing, rig.tools.calls) == ("paused", [])
        after = await rig.resume([say("Done.")])
        assert statuses(after) == ["ok", "unknown_tool"]
        await held(rig)


@pytest.mark.req("run-interrupt-gently")
class TestInterrupt:
    async def test_a_call_under_way_ends_and_the_run_with_it(self, rig: Rig) -> None:
        gate = Gate()
        rig.tools.add("gate", gate)
        calls = reply(call("gate"), call("asked", x=1))
        engine = rig.engine(ScriptedProvider([calls]))
        driving = asyncio.ensure_future(engine.start("run", rig.spec(policy=ASK)))
        await gate.begun.wait()
        await engine.signals.post("run", Interrupt(reason="Enough.").canonical())
        gate.go.set()
        state = await driving
        assert (state.status, state.reason) == ("cancelled", "interrupted")
        assert statuses(state) == ["ok", "cancelled"]
        await held(rig)

    @pytest.mark.parametrize("signal", [Interrupt(), Cancel()])
    async def test_a_run_at_rest_ends_when_it_is_taken_up(self, rig: Rig, signal: Signal) -> None:
        failure = ModelFailure(code="unavailable", message="")
        for number, script in enumerate(([failure], [reply(call("asked", x=1))])):
            run = f"run-{number}"
            await rig.run(script, run=run, policy=ASK)
            await post(rig, signal, run=run)
            state = await rig.resume([], run=run)
            assert state.status == "cancelled"
            assert (await rig.replay(run=run)).identical


@pytest.mark.req("run-follow-up")
class TestFollowUp:
    async def test_the_conversation_goes_on_with_new_limits(self, rig: Rig) -> None:
        limits = Limits(turns=2)
        await rig.run([reply(call("work", x=1)), say("First.")], limits=limits)
        await post(rig, FollowUp(text="And now?"))
        provider = ScriptedProvider([reply(call("work", x=1)), say("Second.")])
        state = await rig.resume(provider)
        assert (state.status, state.reason, state.narrative) == ("completed", "done", "Second.")
        text = str(messages_of(provider.requests[0]))
        assert "First." in text and "And now?" in text
        assert sum(isinstance(e, ev.RunFinished) for e in await rig.events()) == 2
        await held(rig)

    async def test_one_that_comes_early_begins_when_the_run_is_finished(self, rig: Rig) -> None:
        await rig.run([ModelFailure(code="rate_limited", message="")])
        await post(rig, FollowUp(text="And then?"), FollowUp(text="And at last?"))
        state = await rig.resume([say("One."), say("Two."), say("Three.")])
        assert (state.narrative, state.follow_ups) == ("Three.", ())
        await held(rig)

    async def test_cancelling_drops_what_was_to_follow(self, rig: Rig) -> None:
        await rig.run([ModelFailure(code="rate_limited", message="")])
        await post(rig, FollowUp(text="And then?"), Cancel(reason="No."))
        state = await rig.resume([])
        assert (state.status, state.follow_ups) == ("cancelled", ())
        await held(rig)


@pytest.mark.req("run-resolve")
class TestResolve:
    async def test_the_model_is_told_what_a_person_found_out(self, rig: Rig) -> None:
        gate = Gate()
        rig.tools.add("gate", gate, effect="once")
        driving = asyncio.ensure_future(rig.run([reply(call("gate"))]))
        await gate.begun.wait()
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
        state = await rig.resume([ModelFailure(code="unavailable", message="")])
        (doubt,) = state.doubts
        assert doubt.tool == "gate"
        found = Resolve(call_id=doubt.call_id, happened=True, reason="I saw it.")
        await post(rig, Resolve(call_id="unknown", happened=True), found)
        unavailable = ModelFailure(code="unavailable", message="")
        await rig.resume([unavailable])
        provider = ScriptedProvider([say("Good.")])
        after = await rig.resume(provider)
        assert after.doubts == ()
        assert "it had happened. I saw it." in str(messages_of(provider.requests[0]))
        await held(rig)


@pytest.mark.req("signals-port")
class TestSignals:
    async def boxes(self, folder: Path) -> list[tuple[Signals, SqliteJournal | None]]:
        journal = SqliteJournal(folder / "journal.db")
        await journal.open()
        return [(MemorySignals(), None), (journal.signals, journal)]

    async def test_signals_are_numbered_in_each_run_and_stay(self, tmp_path: Path) -> None:
        for box, journal in await self.boxes(tmp_path):
            start, _ = await box.since(None)
            assert [await box.post("a", b"1"), await box.post("b", b"2")] == [1, 1]
            assert await box.post("a", b"\x00\xff") == 2
            for _ in range(2):
                assert await box.read("a") == [(1, b"1"), (2, b"\x00\xff")]
            assert await box.read("a", 1) == [(2, b"\x00\xff")]
            assert await box.read("nobody") == []
            position, runs = await box.since(start)
            assert runs == {"a", "b"}
            assert await box.since(position) == (position, frozenset())
            if journal:
                assert await journal.audit() == []
                await journal.aclose()

    async def test_another_process_s_signal_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.db"
        async with SqliteJournal(path) as one, SqliteJournal(path) as other:
            position, _ = await one.signals.since(None)
            await other.signals.post("a", b"1")
            assert (await one.signals.since(position))[1] == {"a"}
            assert await one.signals.read("a") == [(1, b"1")]

    async def test_a_mailbox_takes_no_more_than_it_holds(self) -> None:
        box = MemorySignals()
        for _ in range(MAX_SIGNALS):
            await box.post("a", b"")
        with pytest.raises(OperatorError, match="full"):
            await box.post("a", b"")

    async def test_what_is_not_a_signal_is_recorded_and_passed_over(self, rig: Rig) -> None:
        await rig.run([ModelFailure(code="unavailable", message="")])
        for body in (b"", b"\xff", b"{}", b'{"type":"steer"}', b'{"type":"fly","text":"x"}'):
            await rig.signals.post("run", body)
        state = await rig.resume([say("Done.")])
        assert (state.status, state.letters, state.phase) == ("completed", 5, RunPhase.FINISHED)


@pytest.mark.req("calls-ordered")
class TestResources:
    async def test_calls_that_share_a_resource_do_not_overlap(self, rig: Rig) -> None:
        running: list[str] = []
        seen: list[tuple[str, ...]] = []

        async def write(call: Call) -> str:
            running.append(str(call.arguments["path"]))
            seen.append(tuple(running))
            await asyncio.sleep(0)
            running.remove(str(call.arguments["path"]))
            return "ok"

        rig.tools.add("write", write, effect="idempotent", resources=("file:{path}",))
        calls = [call("write", path=path, n=n) for n, path in enumerate("abab")]
        state = await rig.run([reply(*calls), say(".")])
        assert statuses(state) == ["ok"] * 4
        assert all(len(set(together)) == len(together) for together in seen)
        assert ("a", "b") in seen, "what shares nothing goes on at once"
        order = [c.arguments["n"] for c in rig.tools.calls]
        assert order.index(0) < order.index(2) and order.index(1) < order.index(3)
        await held(rig)

    async def test_reading_shares(self, rig: Rig) -> None:
        together = asyncio.Barrier(2)

        async def read(call: Call) -> str:
            await together.wait()
            return "ok"

        rig.tools.add("read", read, effect="pure", resources=("file:{path}",))
        calls = [call("read", path="a", n=n) for n in range(2)]
        async with asyncio.timeout(60):
            state = await rig.run([reply(*calls), say(".")])
        assert statuses(state) == ["ok", "ok"]

    async def test_a_later_call_waits_for_one_that_waits_for_a_person(self, rig: Rig) -> None:
        async def work(call: Call) -> str:
            return "ok"

        rig.tools.add("asked", work, effect="once", resources=("file:{path}",))
        rig.tools.add("write", work, effect="idempotent", resources=("file:{path}",))
        calls = [call("asked", path="a"), call("write", path="a"), call("write", path="b")]
        state = await rig.run([reply(*calls)], policy=ASK)
        assert [c.arguments["path"] for c in rig.tools.calls] == ["b"]
        await post(rig, AnswerCall(call=digest_of(state), approved=True))
        after = await rig.resume([say(".")])
        assert statuses(after) == ["ok", "ok", "ok"]
        assert [c.definition.name for c in rig.tools.calls[1:]] == ["asked", "write"]
        await held(rig)


def digest_of(state: RunState) -> str:
    (n,) = [p.call_id for p in state.pending if p.type == "AskApproval"]
    (digest,) = [c.verdict.digest for c in state.calls if c.verdict and c.id == n]
    assert digest is not None
    return digest


class SpokenTo(MemoryJournal):
    """A journal to whose runs people speak just before they are released, after the last look."""

    def __init__(self, *said: Signal) -> None:
        super().__init__()
        self.spoken = MemorySignals()
        self.said = [*said]

    async def release(self, run: str, epoch: int) -> None:
        """Release a run of this process, to which somebody still speaks."""
        if self.said:
            await self.spoken.post(run, self.said.pop(0).canonical())
        await super().release(run, epoch)


@pytest.mark.req("signals-at-the-end")
async def test_a_signal_that_comes_before_a_run_is_released_is_not_left() -> None:
    """The program that executes the run goes on with it: nobody else would."""
    journal = SpokenTo(FollowUp(text="And?"), FollowUp(text="Why?"))
    rig = Rig(journal=journal)
    rig.signals = journal.spoken
    state = await rig.run([say("One."), say("Two."), say("Three.")])
    assert (state.phase, state.letters) == (RunPhase.FINISHED, 2)
    assert [m.text for m in state.history if m.role == "assistant"] == ["One.", "Two.", "Three."]
    assert (await rig.replay()).identical


class AwayAtFirst(MemorySignals):
    """Cannot say at first who got signals."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = asyncio.Event()

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Refuse once."""
        if not self.looked.is_set():
            self.looked.set()
            raise OperatorError("The database cannot be reached.")
        return await super().since(position)


@pytest.mark.req("signals-port")
async def test_signals_of_other_processes_are_found_after_a_look_that_failed() -> None:
    signals, arrived = AwayAtFirst(), asyncio.Event()
    notifier = SignalNotifier(signals, every_s=0.01)
    notifier.watch("run", arrived.set)
    await signals.looked.wait()
    await signals.post("run", Pause().canonical())
    await asyncio.wait_for(arrived.wait(), 60)
    arrived.clear()
    await signals.post("run", Pause().canonical())
    await asyncio.wait_for(arrived.wait(), 60)
    notifier.unwatch("run")


class Unreadable(MemorySignals):
    """Signals that cannot be read when a run is idle."""

    def __init__(self, rig: Rig) -> None:
        super().__init__()
        self._rig = rig

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Refuse once the run is finished."""
        if any(isinstance(event, ev.RunFinished) for event in await self._rig.events()):
            raise OperatorError("The database cannot be reached.")
        return await super().read(run, after)


@pytest.mark.req("signals-at-the-end")
async def test_a_finished_run_does_not_fail_because_its_signals_cannot_be_read() -> None:
    rig = Rig()
    rig.signals = Unreadable(rig)
    assert (await rig.run([say("One.")])).phase is RunPhase.FINISHED
