"""Random lives of runs: signals, crashes, questions, probes and doubts in any order.

What must hold for every prefix of every journal, whatever people, models and processes did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from strict_rules import check_request
from test_runtime_properties import SCRIPTS, Crash, CrashingJournal

from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.core import events as ev
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine
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
from artificer.core.transitions import reduce
from artificer.ports import UNCLAIMED, Call, Claim, Lease, Memo, Probed, Receipt
from artificer.providers import chat_wire, messages_wire, responses_wire
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.runtime.proving.verify import verify
from artificer.storage.memory import MemoryJournal
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolResultBlock
from artificer.values.model import ModelFailure, ModelReply

CHAT = chat_wire.ChatDialect("a", strict=OPENAI_STRICT)
MESSAGES = messages_wire.MessagesDialect("a", strict=ANTHROPIC_STRICT)
RESPONSES = responses_wire.ResponsesDialect("a", strict=OPENAI_STRICT)

BUSY = st.lists(
    st.lists(st.sampled_from(["echo", "once", "asked", "broken"]), min_size=1, max_size=4).map(
        lambda names: reply(*(call(name, n=n) for n, name in enumerate(names)))
    ),
    min_size=1,
    max_size=4,
)
"""Models that get something done, beside those that do what they like."""

WISHES = ["steer", "follow_up", "pause", "interrupt", "cancel", "yes", "no", "resolve", "none"]
NOBODY = "sha256:" + "0" * 64


@dataclass(frozen=True)
class Step:
    """One process: what lies in the mailbox, what comes while it drives, where it dies."""

    before: list[str]
    during: list[str]
    crash: tuple[int, str] | None
    dies_in_tool: bool


STEPS = st.builds(
    Step,
    before=st.lists(st.sampled_from(WISHES), max_size=2),
    during=st.lists(st.sampled_from(WISHES), max_size=2),
    crash=st.none() | st.tuples(st.integers(1, 6), st.sampled_from(["before", "after"])),
    dies_in_tool=st.booleans(),
)


class Mortal(CrashingJournal):
    """A journal of a process that may be gone altogether."""

    gone = False

    async def append(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        if self.gone:
            raise Crash
        return await super().append(*args, **kwargs)


@dataclass
class Life:
    """A run through all that befalls it."""

    script: list[ModelReply | ModelFailure]
    found: list[Probed]
    rig: Rig = field(init=False)
    sent: int = 0
    effects: list[tuple[str, str]] = field(default_factory=list)
    requests: list[JsonObject] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.inner = MemoryJournal()
        self.rig = Rig(journal=self.inner)
        self.step = Step([], [], None, False)
        for name, effect in [("echo", "pure"), ("once", "once"), ("asked", "keyed")]:
            self.rig.tools.add(name, self.work, effect=effect)
        self.rig.tools.add("broken", self.work, effect="once", prober=self.prober)

    async def work(self, call: Call) -> Receipt:
        name = call.definition.name
        self.effects.append((name, call.key))
        while self.step.during:
            await self.post(self.step.during.pop())
        await asyncio.sleep(0)
        if self.step.dies_in_tool and name in ("once", "broken"):
            self.journal.gone = True
            raise Crash
        if name == "broken":
            raise ValueError("\ud800")
        return Receipt(status="ok", content=f"{name} is done" + "x" * 60)

    async def prober(self, call: Call) -> Probed:
        found = self.found.pop() if self.found else Probed(found="unknown")
        if found.found == "absent":
            self.absent.add(call.key)
        return found

    def answer(self, body: JsonObject) -> ModelReply | ModelFailure:
        self.requests.append(body)
        return self.script.pop(0) if self.script else say("The end.")

    async def state(self) -> RunState | None:
        if not await self.inner.read("run"):
            return None
        return (await load(self.inner, self.rig.blobs, "run")).state

    async def post(self, wish: str) -> None:
        signal = self.signal(wish, await self.state())
        body = b"{}" if signal is None else signal.canonical()
        self.sent = await self.engine.signals.post("run", body)

    def signal(self, wish: str, state: RunState | None) -> Signal | None:
        waiting = [c.verdict for c in state.calls if not c.status] if state else []
        asked = [v.digest for v in waiting if v and v.digest] or [NOBODY]
        doubts = [d.call_id for d in state.doubts] if state else []
        made: dict[str, Signal | None] = {
            "steer": Steer(text="Hm."),
            "follow_up": FollowUp(text="And then?"),
            "pause": Pause(),
            "interrupt": Interrupt(reason="So."),
            "cancel": Cancel(),
            "yes": AnswerCall(call=asked[0], approved=True),
            "no": AnswerCall(call=asked[-1], approved=False),
            "resolve": Resolve(call_id=(doubts or ["x"])[0], happened=True),
            "none": None,
        }
        return made[wish]

    async def live(self, step: Step, kind: str) -> None:
        """The life of one process."""
        self.step = Step(list(step.before), list(step.during), step.crash, step.dies_in_tool)
        self.journal = Mortal(self.inner, {step.crash} if step.crash else set())
        rig = Rig(self.journal, self.rig.blobs, self.rig.tools, self.rig.clock)
        rig.signals = self.rig.signals
        self.engine = rig.engine(ScriptedProvider(self.answer))
        for wish in step.before:
            await self.post(wish)
        policy = Policy(rules=(Rule(tool="asked", decision="ask"),))
        limits = Limits(turns=6, calls=4, repairs=2, result_chars=50)
        try:
            if await self.state() is None:
                await self.engine.start("run", rig.spec(kind=kind, policy=policy, limits=limits))
            else:
                await self.engine.resume("run")
        except Crash:
            pass

    async def to_the_end(self, kind: str) -> RunState:
        """Say yes to all that is asked, until nothing is left to do."""
        for _ in range(60):
            state = await self.state()
            if state and state.phase is RunPhase.FINISHED and state.letters == self.sent:
                return state
            waits = state is not None and state.standing == "waiting"
            await self.live(Step(["yes"] if waits else [], [], None, False), kind)
        raise AssertionError("the run does not end")


@pytest.mark.req("run-lifecycle")
@given(
    BUSY | BUSY | SCRIPTS,
    st.lists(STEPS, min_size=1, max_size=6),
    st.lists(st.builds(Probed, found=st.sampled_from(["happened", "absent", "unknown"]))),
    st.sampled_from(["chat", "deliver"]),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_people_and_processes_do(
    script: list[ModelReply | ModelFailure], steps: list[Step], found: list[Probed], kind: str
) -> None:
    async def go() -> None:
        life = Life(list(script), list(found))
        for step in steps:
            await life.live(step, kind)
        await held(life, await life.to_the_end(kind))

    asyncio.run(go())


async def held(life: Life, state: RunState) -> None:
    """Check what holds for every life of a run."""
    assert unpaired(state.history) == []
    assert all(unpaired(messages_of(body)) == [] for body in life.requests)

    lines = (await load(life.inner, life.rig.blobs, "run")).lines
    events = [line.event for line in lines if isinstance(line, EventLine)]
    taken = [n for e in events if (n := getattr(e, "letter", 0))]
    assert taken == list(range(1, life.sent + 1)), "each signal is taken once, in its order"

    once = [key for name, key in life.effects if name == "once"]
    assert len(once) == len(set(once)), "a once tool ran twice"
    known = [k for name, k in life.effects if name == "broken" and k not in life.absent]
    assert len(known) == len(set(known)), "run again only where the world said it had not happened"

    replies = sum(isinstance(e, ev.ModelResponded) for e in events)
    prefix = RunState()
    for line in lines:
        if isinstance(line, EventLine):
            prefix, _ = reduce(prefix, line.event)
            assert prefix.digest == line.state
            if prefix.phase is RunPhase.GENERATING:
                every_provider_accepts(prefix)
    assert prefix == state

    rig = Rig(life.inner, life.rig.blobs)
    replayed = await rig.replay()
    assert replayed.identical and replayed.drift == [] and replayed.digest == state.digest
    assert replayed.requests >= replies
    assert (await verify(life.inner, life.rig.blobs)).problems == []
    if state.reason == "cancelled":
        assert state.status == "cancelled"


def every_provider_accepts(state: RunState) -> None:
    """A request is one that each of the three protocols takes, with each call's one result."""
    assert unpaired(state.history) == []
    request, history = state.request(), state.history
    chat = chat_wire.prepare_request(request, history, Memo(), CHAT)
    check_request("chat", chat.body)
    messages = messages_wire.prepare_request(request, history, Memo(), MESSAGES)
    check_request("messages", messages.body)
    responses = responses_wire.prepare_request(request, history, Memo(), RESPONSES)
    check_request("responses", responses.body)


FATES = ["ok", "raises", "hangs", "refuses", "cancels", "lies"]


@pytest.mark.req("parallel-siblings")
@given(st.lists(st.sampled_from(FATES), min_size=1, max_size=8), st.integers(1, 4))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_becomes_of_a_call_its_siblings_results_are_there(
    fates: list[str], concurrency: int
) -> None:
    async def go() -> None:
        rig = Rig()

        async def work(call: Call) -> Receipt:
            fate = call.arguments["fate"]
            await asyncio.sleep(0)
            if fate == "raises":
                raise BaseExceptionGroup("", [ValueError("no"), KeyError("\ud800")])
            if fate == "hangs":
                await asyncio.Event().wait()
            if fate == "cancels":
                raise asyncio.CancelledError
            if fate == "lies":
                return {"status": "splendid"}  # type: ignore[return-value]
            if fate == "refuses":
                return Receipt(status="error", content="no")
            return Receipt(status="ok", content=f"result {call.arguments['n']}")

        rig.tools.add("work", work)
        rig.tools.add("hang", work, timeout_ms=1)
        calls = [
            call("hang" if fate == "hangs" else "work", fate=fate, n=n)
            for n, fate in enumerate(fates)
        ]
        engine = rig.engine(ScriptedProvider([reply(*calls), say("Done.")]))
        engine.performer = replace(engine.performer, grace_s=0.0)
        state = await engine.start("run", rig.spec(limits=Limits(concurrency=concurrency)))
        results = [b for m in state.history for b in m.blocks if isinstance(b, ToolResultBlock)]
        expected = {"ok": "ok", "hangs": "timeout"}
        assert [b.status for b in results] == [expected.get(f, "error") for f in fates]
        assert [b.content for b, f in zip(results, fates, strict=True) if f == "ok"] == [
            f"result {n}" for n, f in enumerate(fates) if f == "ok"
        ]
        assert state.status == "completed"
        assert (await rig.replay()).identical

    asyncio.run(go())


class RacingJournal(MemoryJournal):
    """Somebody goes on with a run just before it is taken over."""

    race: Callable[[], Awaitable[object]] | None = None

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        race, self.race = self.race, None
        if race is not None:
            await race()
        return await super().acquire(run, claim)


@pytest.mark.req("cli-cancel")
async def test_a_run_that_goes_on_while_it_is_cancelled_is_cancelled() -> None:
    journal = RacingJournal()
    rig = Rig(journal=journal)
    down = ModelFailure(code="unavailable", message="")
    await rig.run([down], run="r")

    async def race() -> None:
        await rig.engine(ScriptedProvider([down])).resume("r")

    journal.race = race
    assert (await rig.engine(ScriptedProvider([])).cancel("r", "Enough.")).status == "cancelled"
    assert journal.race is None
