"""Random models, random tools, random crashes: what must hold whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from artificer.core import events as ev
from artificer.core.policy import Policy, Rule
from artificer.core.spec import Limits
from artificer.core.state import RunPhase, RunState
from artificer.ports import (
    Answer,
    BlobStore,
    Call,
    Journal,
    Question,
    Receipt,
    Record,
)
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.proving.verify import verify
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.base import JsonObject
from artificer.values.blocks import Block, ReasoningBlock, TextBlock, ToolUseBlock
from artificer.values.model import ModelFailure, ModelReply, Usage
from wrapped_journal import WrappedJournal

NAMES = ["echo", "once", "broken", "asked", "create_list", "nobody", "", "É 😀", "x" * 300]
IDS = ["", "a", "a", "b", "call_1_0", "call_2_1", "toolu_01", "é", "x" * 70, "\ud800"]
ARGUMENTS = [
    "",
    "{}",
    '{"x": 1}',
    '{"x": 1.0}',
    '{"x": "\\ud83d"}',
    '{"x": 1',
    "[]",
    "NaN",
    '{"x":1,"x":2}',
    "\ud800",
    '{"list":{"kind":"list","id":"a","items":["é"]}}',
    '{"list":{"kind":"list","id":"A","items":["b"]},"replace":true}',
    '{"list":{"kind":"list","id":"a","items":[]},"x":1e20}',
]
TEXTS = ["", " ", "Hm.", "{{artifact:list:a}}", "{{artifact:list:b}} and", "\ud800😀", "- a\n- b\n"]

CALLS = st.builds(
    ToolUseBlock,
    id=st.sampled_from(IDS),
    name=st.sampled_from(NAMES),
    arguments=st.sampled_from(ARGUMENTS),
)
TEXT_BLOCKS = st.builds(TextBlock, text=st.sampled_from(TEXTS))
REASONING = st.builds(ReasoningBlock, provider=st.just("scripted"), data=st.sampled_from(TEXTS))
BLOCKS: st.SearchStrategy[Block] = CALLS | CALLS | TEXT_BLOCKS | REASONING
REPLIES = st.builds(
    ModelReply,
    blocks=st.lists(BLOCKS, max_size=5).map(tuple),
    stop=st.sampled_from(["end_turn", "tool_use", "tool_use", "max_tokens", "refusal"]),
    usage=st.just(Usage(input_tokens=3, output_tokens=2)),
)
FAILURES = st.builds(
    ModelFailure,
    code=st.sampled_from(["rate_limited", "unavailable", "context_overflow", "bad_request"]),
    message=st.sampled_from(TEXTS),
)
STUCK = ModelReply(blocks=(ToolUseBlock(id="a", name="echo", arguments="{}"),) * 2, stop="tool_use")
SCRIPTS = st.lists(REPLIES | REPLIES | REPLIES | FAILURES, max_size=8)


class Crash(BaseException):
    """The process is gone."""


class CrashingJournal(WrappedJournal):
    """A journal whose process dies before or after the appends with these numbers."""

    def __init__(self, inner: Journal, crashes: set[tuple[int, str]]) -> None:
        super().__init__(inner)
        self.crashes = crashes

    async def before(self) -> None:
        if (self.appends, "before") in self.crashes:
            raise Crash

    async def after(self, run: str, records: Sequence[Record]) -> None:
        if (self.appends, "after") in self.crashes:
            raise Crash


class Careless:
    """A person who says yes to every second question."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, question: Question) -> Answer:
        self.asked += 1
        return Answer(self.asked % 2 == 1, by="someone")


class World:
    """A rig with tools of every class, and a model that follows a script through all crashes."""

    def __init__(self, script: list[ModelReply | ModelFailure], crashes: set[tuple[int, str]]):
        self.script = script
        self.at = 0
        self.requests: list[JsonObject] = []
        self.rig = Rig(journal=CrashingJournal(MemoryJournal(), crashes), approver=Careless())
        self.effects: list[tuple[str, str]] = []
        for name, effect in [("echo", "pure"), ("once", "once"), ("asked", "keyed")]:
            self.rig.tools.add(name, self.work, effect=effect)
        self.rig.tools.add("broken", self.broken, effect="once")

    def answer(self, body: JsonObject) -> ModelReply | ModelFailure:
        self.requests.append(body)
        self.at += 1
        return self.script[self.at - 1] if self.at <= len(self.script) else say("The end.")

    async def work(self, call: Call) -> Receipt:
        self.effects.append((call.definition.name, call.key))
        await asyncio.sleep(0)
        return Receipt(status="ok", content="x" * 200)

    async def broken(self, call: Call) -> Receipt:
        self.effects.append((call.definition.name, call.key))
        raise ValueError("\ud800")

    async def drive(self, kind: str) -> RunState:
        """Start, and resume after every crash and stall until the end."""
        policy = Policy(rules=(Rule(tool="asked", decision="ask"),))
        limits = Limits(
            turns=6, calls=4, repairs=2, total_tokens=20_000, result_chars=50, repeats=3
        )
        provider = ScriptedProvider(self.answer)
        started = False
        for _ in range(40):
            try:
                if started or await self.rig.journal.read("run"):
                    state = await self.rig.resume(provider)
                else:
                    state = await self.rig.run(provider, kind=kind, policy=policy, limits=limits)
                if state.phase is RunPhase.FINISHED:
                    return state
                started = True
            except Crash:
                pass
        raise AssertionError("the run does not end")


@pytest.mark.req("run-properties")
@given(
    SCRIPTS,
    st.sets(st.tuples(st.integers(1, 14), st.sampled_from(["before", "after"])), max_size=3),
    st.sampled_from(["chat", "deliver"]),
)
@example([STUCK] * 4, {(9, "after")}, "chat")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_happens(
    script: list[ModelReply | ModelFailure], crashes: set[tuple[int, str]], kind: str
) -> None:
    asyncio.run(_whatever_happens(script, crashes, kind))


async def _whatever_happens(
    script: list[ModelReply | ModelFailure], crashes: set[tuple[int, str]], kind: str
) -> None:
    world = World(script, crashes)
    state = await world.drive(kind)
    rig = world.rig

    for body in world.requests:
        assert unpaired(messages_of(body)) == []
    assert unpaired(state.history) == []
    assert state.turn <= 6 and state.repairs <= 2

    events = await rig.events()
    replies = [e for e in events if isinstance(e, ev.ModelResponded)]
    paid = len(world.requests) - len([e for e in events if isinstance(e, ev.ModelFailed)])
    assert paid - len(replies) <= len(crashes), "only a crash may cost a reply"

    assert state.repeats.times < 3 or state.reason in ("stuck", "refused")
    if script == [STUCK] * 4:
        assert (state.reason, state.turn) == ("stuck", 3)

    once = [key for name, key in world.effects if name in ("once", "broken")]
    assert len(once) == len(set(once)), "a once tool ran twice"

    deliverable = rig.deliverable(state)
    if deliverable.status == "completed":
        assert not [f for f in deliverable.findings if f.code == "missing"]
    else:
        assert deliverable.note or deliverable.findings

    replayed = await rig.replay()
    assert replayed.identical and replayed.drift == [], replayed
    assert replayed.digest == state.digest
    assert replayed.requests >= len(replies)
    inner = rig.journal
    assert isinstance(inner, CrashingJournal)
    assert (await verify(inner.inner, rig.blobs)).problems == []


@pytest.mark.req("storage-linear")
class TestStorage:
    async def stored(self, turns: int, text: str) -> int:
        blobs: BlobStore = MemoryStore()
        rig = Rig(blobs=blobs)

        async def answer(call: Call) -> str:
            return f"{call.arguments['n']} {text}"

        rig.tools.add("answer", answer)
        script = [
            reply(TextBlock(text=f"{n} {text}"), call("answer", n=n)) for n in range(turns - 1)
        ]
        state = await rig.run([*script, say("Done.")], limits=Limits(turns=turns))
        assert state.status == "completed"
        records = sum(len(record.body) for record in await rig.journal.read("run"))
        return records + sum(len(blobs.get(digest)) for digest in blobs.digests())

    @pytest.mark.parametrize("size", [10, 6_000])
    async def test_grows_with_the_turns_not_with_their_square(self, size: int) -> None:
        text = "x" * size
        at_50, at_100, at_200 = [await self.stored(n, text) for n in (50, 100, 200)]
        first, second = (at_100 - at_50) / 50, (at_200 - at_100) / 100
        assert abs(second - first) / first < 0.02, (first, second)
        assert second < 2 * size + 4_000, "a turn costs what it says, once"
