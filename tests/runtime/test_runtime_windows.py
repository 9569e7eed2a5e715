"""Random conversations that grow too long: what every window that is sent holds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from artificer.core import events as ev
from artificer.core.intents import Generate, Intent
from artificer.core.record import IntentLine
from artificer.core.spec import Limits
from artificer.core.state import RunPhase, RunState
from artificer.core.window import boundaries
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.base import JsonObject
from artificer.values.blocks import ReasoningBlock, TextBlock
from artificer.values.canon import canonical
from artificer.values.model import ModelFailure, ModelReply, Usage
from artificer.values.tokens import BYTES_A_TOKEN

SUMMARISE = "Write a summary."
SYSTEM = "These are the instructions. " * 8
MOST_TURNS = 30

SIZES = st.sampled_from([0, 10, 300, 3_000, 20_000])
SUMMARIES: list[ModelReply | ModelFailure] = [
    say("A summary."),
    say("A long summary. " * 2_000),
    say("  "),
    reply(call("read", size=1)),
    ModelReply(blocks=(TextBlock(text="Cut"),), stop="max_tokens"),
    ModelReply(blocks=(), stop="refusal"),
    *(
        ModelFailure(code=code, message="no")
        for code in ("auth", "bad_request", "context_overflow", "rate_limited", "stream_truncated")
    ),
]


@dataclass(frozen=True)
class Turn:
    """A reply with calls whose results have these sizes, or with none; and what is said then."""

    results: list[int]
    said: int = 0
    thinks: bool = False
    steer: int | None = None


TURNS = st.builds(
    Turn,
    results=st.lists(SIZES, min_size=1, max_size=3),
    said=st.sampled_from([0, 10, 2_000]),
    thinks=st.booleans(),
    steer=st.none() | st.none() | st.sampled_from([10, 4_000]),
)


@dataclass(frozen=True)
class Reader:
    """A model that reads ``fits`` tokens, of ``size`` bytes each.

    ``counts`` says that it tells how many it has read. Of what it writes it tells too few.
    """

    fits: int | None
    size: int
    counts: bool


READERS = st.builds(
    Reader,
    fits=st.sampled_from([None, 2_000, 6_000, 30_000]),
    size=st.sampled_from([1, 2, 4]),
    counts=st.booleans(),
)


@dataclass
class Talk:
    """One conversation, as its model sees it."""

    script: list[Turn]
    reader: Reader
    summaries: list[ModelReply | ModelFailure]
    rig: Rig = field(default_factory=Rig)
    bodies: list[JsonObject] = field(default_factory=list)
    asked: int = 0
    steers: list[int] = field(default_factory=list)

    def answer(self, body: JsonObject) -> ModelReply | ModelFailure:
        tokens = len(canonical(body)) // self.reader.size
        too_long = self.reader.fits is not None and tokens > self.reader.fits
        if body["system"] == SUMMARISE:
            self.asked += 1
            answer = self.summaries[self.asked % len(self.summaries)]
            return ModelFailure(code="context_overflow", message="no") if too_long else answer
        self.bodies.append(body)
        if too_long:
            return ModelFailure(code="context_overflow", message="too long")
        said = self._said()
        usage = Usage(input_tokens=tokens, output_tokens=5) if self.reader.counts else Usage()
        return said.replace(usage=usage)

    def _said(self) -> ModelReply:
        if not self.script:
            return say("Done.")
        turn = self.script.pop(0)
        if turn.steer is not None:
            self.steers.append(turn.steer)
        thought = ReasoningBlock(provider="scripted", data='{"thought": 1}')
        calls = [call("read", size=size, n=n) for n, size in enumerate(turn.results)]
        return reply(*([thought] if turn.thinks else []), TextBlock(text="s" * turn.said), *calls)

    async def read(self, call: Call) -> str:
        while self.steers:
            text = "Steered. " + "t" * self.steers.pop()
            signal = json.dumps({"type": "steer", "text": text})
            await self.engine.signals.post("run", signal.encode())
        return "r" * call.arguments["size"]

    async def hold(self, spec: dict[str, Any], follow_up: int | None) -> RunState:
        self.rig.tools.add("read", self.read)
        self.engine = self.rig.engine(ScriptedProvider(self.answer))
        state = await self.engine.start("run", self.rig.spec(**spec))
        if follow_up is not None and state.reason == "done":
            self.script.append(Turn([3_000]))
            signal = {"type": "follow_up", "text": "And then? " + "f" * follow_up}
            await self.engine.signals.post("run", json.dumps(signal).encode())
            state = await self.engine.resume("run")
        return state


@pytest.mark.req("context-any", "context-counted", "context-said-last")
@given(
    st.lists(TURNS, max_size=12),
    READERS,
    st.lists(st.sampled_from(SUMMARIES), min_size=1, max_size=3),
    st.sampled_from([None, 1_000, 4_000, 12_000]),
    st.sampled_from([5, 400, 6_000]),
    st.booleans(),
    st.none() | st.sampled_from([10, 9_000]),
    st.sampled_from([None, None, 5_000, 40_000]),
)
@example(  # five tokens, says the model, of a reply of two thousand characters
    [*[Turn([0])] * 4, Turn([0, 0, 0], said=2_000)],
    Reader(fits=None, size=4, counts=True),
    [say("A summary.")],
    1_000,
    5,
    True,
    None,
    None,
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_said(
    script: list[Turn],
    reader: Reader,
    summaries: list[ModelReply | ModelFailure],
    context: int | None,
    prompt: int,
    compacts: bool,
    follow_up: int | None,
    total: int | None,
) -> None:
    async def go() -> None:
        talk = Talk(list(script), reader, summaries)
        limits = Limits(turns=MOST_TURNS, context_tokens=context, max_tokens=500)
        limits = limits.replace(total_tokens=total)
        asked = "Do it: " + "p" * prompt
        spec = {
            "system": SYSTEM,
            "prompt": asked,
            "limits": limits,
            "compaction": SUMMARISE if compacts else "",
        }
        state = await talk.hold(spec, follow_up)
        await held(talk, state, asked)

    asyncio.run(go())


async def held(talk: Talk, state: RunState, prompt: str) -> None:
    """Check what holds for every conversation."""
    assert state.phase is RunPhase.FINISHED
    loaded = await load(talk.rig.journal, talk.rig.blobs, "run")
    events = await talk.rig.events()
    moved = [e for e in events if isinstance(e, ev.ContextCompacted | ev.CompactionFailed)]
    may = state.run_spec.compaction or state.run_spec.limits.context_tokens
    if state.reason == "model_failed":
        assert not may
    else:
        assert state.reason in ("done", "context_limit", "token_limit")
    limits = state.run_spec.limits
    whole = len(prompt) + len(state.history[state.said].text if state.said else "") + len(SYSTEM)
    too_long = limits.context_tokens is not None and whole > 4 * limits.context_tokens
    overflows = state.reason in ("context_limit", "model_failed") and not too_long
    assert state.failure == ("context_overflow" if overflows else None)
    if state.reason == "context_limit" and not too_long:
        assert boundaries(state.history, state.window.start) == [], "nothing more could go"

    if limits.total_tokens is not None and talk.reader.size == 4:
        # Without counts, a last reply of 2,000 characters is taken for more than it was allowed.
        over = 0 if talk.reader.counts else 2_000 // BYTES_A_TOKEN
        assert state.usage.input_tokens + state.usage.output_tokens <= limits.total_tokens + over

    before: list[bytes] = []
    openings: list[bytes] = []
    said = said_last(state, [r.intent for r in loaded.lines if isinstance(r, IntentLine)])
    assert len(said) >= len(talk.bodies)
    for body, last in zip(talk.bodies, said, strict=False):
        assert body["system"] == SYSTEM
        messages = messages_of(body)
        assert unpaired(messages) == []
        assert messages[0].role == "user" and prompt in messages[0].text
        assert any(last in message.text for message in messages), "whole, wherever it is"
        items = [canonical(item) for item in body["messages"]]
        if items[: len(before)] != before:
            openings.append(items[0])
        before = items
        if limits.context_tokens is not None and talk.reader.size == 4:
            assert body["max_tokens"] <= limits.max_tokens
            fits(body, limits.context_tokens, talk.reader.size)
    assert len(openings) <= len(moved), "only a compaction changes what was sent"
    assert len(moved) <= 2 * len(talk.bodies)

    asked = [r for r in loaded.lines if isinstance(r, IntentLine) and r.request]
    replayed = await talk.rig.replay()
    assert replayed.identical and replayed.requests == len(asked)


def said_last(state: RunState, intents: list[Intent]) -> list[str]:
    """Return the user's last message by each request."""
    asked = [state.history[: i.messages] for i in intents if isinstance(i, Generate)]
    words = ("Do it: ", "Steered. ", "And then? ")
    return [[m.text for m in known if m.text.startswith(words)][-1] for known in asked]


def fits(body: JsonObject, limit: int, size: int) -> None:
    """A request is within the limit, unless nothing more could go."""
    messages, tokens = messages_of(body), len(canonical(body)) // size
    if tokens > limit:
        assert [n for n in boundaries(messages, 0) if n < len(messages)] == []
