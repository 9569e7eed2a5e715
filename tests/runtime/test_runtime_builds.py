"""A build is a run: its scheduler's facts and wishes are records, crash-safe and replayable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from artificer.artifacts.plan import Plan
from artificer.builds import facts, jobs
from artificer.core import events as ev
from artificer.core.signals import Cancel, Decide, Pause, Retry, Signal
from artificer.core.state import RunState
from artificer.providers.scripted import ScriptedProvider
from artificer.runtime.engine import Engine
from artificer.runtime.proving.verify import verify
from artificer.testing.rig import Rig
from artificer.values.model import Usage
from build_world import BASE, BuildWorld, plan_of

pytestmark = pytest.mark.req("build-is-a-run")


class Serving:
    """Serves wishes as a world would in which everything goes well (ports.Builder)."""

    def __init__(self, plan: Plan) -> None:
        self.world = BuildWorld(plan)
        self.served: list[Any] = []
        self.refuse = False
        self.relayed: list[bytes] = []
        self.tidied = 0
        self.held: asyncio.Event | None = None
        self.begun = asyncio.Event()
        self.deciding: asyncio.Event | None = None
        self.rests = False
        self.answered: set[str] = set()

    async def serve(self, run: str, state: RunState, wish: Any) -> ev.BuildAdvanced | None:
        assert state.build is not None
        self.world.state = state.build
        self.served.append(wish)
        if isinstance(wish, jobs.AskDecision) and self.deciding is not None:
            self.begun.set()
            await self.deciding.wait()
        if isinstance(wish, jobs.CancelRun | jobs.AskDecision):
            return None
        if self.rests and isinstance(wish, jobs.StartRun):
            self.rests, self.answered = False, {wish.key}
            fact = facts.RunRested(key=wish.key, run="run.child", standing="waiting")
            return ev.BuildAdvanced(at=len(self.served), fact=fact)
        if self.held is not None:
            self.begun.set()
            await self.held.wait()
        fact = self.world.answer(wish)
        if self.refuse and isinstance(wish, jobs.Check):
            fact = facts.Checked(key=wish.key, passed=False, report="It fails.", commit=BASE)
        return ev.BuildAdvanced(at=len(self.served), fact=fact, usage=Usage(input_tokens=1))

    async def relay(self, run: str, state: RunState, letter: bytes) -> None:
        self.relayed.append(letter)

    async def signalled(self, state: RunState) -> set[str]:
        return self.answered

    async def tidy(self, run: str, state: RunState) -> None:
        self.tidied += 1


def engine(rig: Rig, serving: Serving) -> Engine:
    return rig.engine(ScriptedProvider([]), builder=serving)


def request(rig: Rig, **options: Any) -> Any:
    asked = facts.BuildRequested(
        build="run",
        request="Make it.",
        base=BASE,
        options=facts.BuildOptions(size="small", **options),
    )
    return rig.spec(kind="build", prompt="Make it.", build=asked)


async def post(rig: Rig, *sent: Signal) -> None:
    for signal in sent:
        await rig.signals.post("run", signal.canonical())


def asked(state: RunState) -> str:
    assert state.build is not None
    (wish,) = [x for x in state.build.open if isinstance(x, jobs.AskDecision)]
    return wish.digest


async def test_it_waits_for_the_plan_s_approval_and_then_goes_to_its_end() -> None:
    rig, serving = Rig(), Serving(plan_of({"store": (), "api": ("store",)}))
    state = await engine(rig, serving).start("run", request(rig))
    assert state.standing == "waiting"
    await post(rig, Decide(plan=asked(state), decision="approve", by="alice"))
    done = await engine(rig, serving).resume("run")
    assert (done.status, done.reason) == ("completed", "done")
    assert done.build is not None and done.build.merged == ("store", "api")
    assert done.usage.input_tokens == len(serving.served) - 1, "all but the question"
    assert "**api**: done" in rig.deliverable(done).narrative
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


async def test_a_decision_about_another_plan_changes_nothing() -> None:
    rig, serving = Rig(), Serving(plan_of({"store": ()}))
    state = await engine(rig, serving).start("run", request(rig))
    right = Decide(plan=asked(state), decision="reject", by="alice", reason="Too dear.")
    await post(rig, Decide(plan="sha256:" + "0" * 64, decision="approve"), right, right)
    done = await engine(rig, serving).resume("run")
    assert (done.status, done.reason) == ("cancelled", "rejected")
    late = [e for e in await rig.events() if isinstance(e, ev.ReceiptIgnored)]
    assert [e.letter for e in late] == [1, 3]
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


@pytest.mark.parametrize("kills", [1, 2, 3])
async def test_killed_anywhere_it_comes_to_the_same_and_serves_no_key_for_another(
    kills: int,
) -> None:
    rig, serving = Rig(), Serving(plan_of({"a": (), "b": ("a",), "c": ("a",)}))
    await engine(rig, serving).start("run", request(rig))
    state = await engine(rig, serving).resume("run")
    await post(rig, Decide(plan=asked(state), decision="approve"))
    for number in range(kills * 4):
        serving.held = asyncio.Event() if number % 2 else None
        driving = asyncio.ensure_future(engine(rig, serving).resume("run"))
        for _ in range(20 * kills):  # somewhere on its way
            await asyncio.sleep(0)
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
    serving.held = None
    done = await engine(rig, serving).resume("run")
    assert done.status == "completed"
    assert done.build is not None and set(done.build.merged) == {"a", "b", "c"}
    by_key = {wish.key: wish for wish in serving.served}
    assert all(by_key[wish.key] == wish for wish in serving.served)
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


async def test_a_build_that_cannot_go_on_says_so_and_a_retry_helps() -> None:
    rig, serving = Rig(), Serving(plan_of({"store": ()}))
    serving.refuse = True
    state = await engine(rig, serving).start("run", request(rig, attempts=1))
    if state.standing == "waiting":
        await post(rig, Decide(plan=asked(state), decision="approve"))
        state = await engine(rig, serving).resume("run")
    assert state.standing == "stalled"
    serving.refuse = False
    await post(rig, Retry(spec="store", by="alice"))
    assert (await engine(rig, serving).resume("run")).status == "completed"
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


async def test_paused_it_begins_nothing_and_cancelled_it_ends_what_runs() -> None:
    rig, serving = Rig(), Serving(plan_of({"a": (), "b": ()}))
    state = await engine(rig, serving).start("run", request(rig))
    await post(rig, Decide(plan=asked(state), decision="approve"), Pause())
    before = len(serving.served)
    paused = await engine(rig, serving).resume("run")
    assert (paused.standing, len(serving.served)) == ("paused", before)
    serving.held = asyncio.Event()
    driven = engine(rig, serving)
    driving = asyncio.ensure_future(driven.resume("run"))
    async with asyncio.timeout(60):
        await serving.begun.wait()
        await driven.signals.post("run", Cancel(reason="Enough.").canonical())
        done = await driving
    assert (done.status, done.reason) == ("cancelled", "cancelled")
    assert (await rig.replay()).identical
    assert (await verify(rig.journal, rig.blobs)).problems == []


@pytest.mark.req("build-last-word")
async def test_the_last_word_counts_also_while_the_build_is_driven() -> None:
    rig, serving = Rig(), Serving(plan_of({"store": ()}))
    serving.deciding = asyncio.Event()
    driven = engine(rig, serving)
    driving = asyncio.ensure_future(driven.start("run", request(rig)))
    async with asyncio.timeout(60):
        await serving.begun.wait()
        plan = serving.served[-1].digest
        await post(rig, Decide(plan=plan, decision="reject"))
        await driven.signals.post("run", Decide(plan=plan, decision="approve").canonical())
        done = await driving
    assert (done.status, done.reason) == ("completed", "done")
    ignored = [e for e in await rig.events() if isinstance(e, ev.ReceiptIgnored)]
    assert [e.letter for e in ignored] == [1] and "decides otherwise" in ignored[0].reason
    assert (await rig.replay()).identical


@pytest.mark.req("build-control")
async def test_a_run_that_rested_is_taken_up_when_it_is_answered() -> None:
    rig, serving = Rig(), Serving(plan_of({"store": ()}))
    serving.rests = True
    state = await engine(rig, serving).start("run", request(rig))
    assert state.build is not None and state.build.resting == ()
    first, second = serving.served[:2]
    assert first == second and isinstance(first, jobs.StartRun)
    assert asked(state), "the plan was made"
    assert (await rig.replay()).identical
