"""Snapshots: resuming a long run without reducing all of it again.

A snapshot is the state after some record, kept next to the journal. It is believed only as far as
the journal proves it: the record is where the snapshot says it is, and the digest that it recorded
is the digest of this state. Those digests cover the conversation by a chain over its messages, the
spec by its digest, and everything else as it is; what they leave out follows from
these. A snapshot that is not proven is left aside, and the run is reduced from its beginning.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import structs

from artificer.core.call_ids import CallIds, with_ids
from artificer.core.events import PromptReceived
from artificer.core.intents import Intent
from artificer.core.measure import context_after
from artificer.core.record import EventLine, IntentLine, decode
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.window import Window
from artificer.errors import ArtificerError, InvalidValueError, TamperedError
from artificer.ports import BlobStore, Head, Journal, Record, Snapshots
from artificer.runtime.load import Loaded, follow, load
from artificer.values.base import Digest, Value, ValueReader
from artificer.values.blocks import (
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.canon import digest_of
from artificer.values.message_history import MessageHistory
from artificer.values.model import Usage
from artificer.values.release import RELEASE
from artificer.values.tokens import tokens_of

log = logging.getLogger("artificer.run")

EVERY = 512
"""Records after which a run's state is kept again."""

_MOVES = ("ContextCompacted", "CompactionFailed")

PAGE, FARTHEST = 64, 16_384
"""Records that are read at once on the way back from a snapshot, and how far back at most."""


_messages: ValueReader[tuple[Message, ...]] = ValueReader(tuple[Message, ...], "the conversation")

_BLOCKS = {
    "tool_use_id": ToolResultBlock.type,
    "arguments": ToolUseBlock.type,
    "provider": ReasoningBlock.type,
}
"""A member that a kind of block has, and no other kind: a digest is not made of its ``type``."""


class _Kept(Value):
    """``state`` is without conversation, spec and whatever follows from these."""

    format: Literal[1] = 1
    release: str
    seq: int
    hash: Digest
    messages: int
    state: RunState


class Snapshotter:
    """Stores states of one run of this process from time to time, in a thread."""

    def __init__(self, snapshots: Snapshots, run: str, *, seq: int, messages: int) -> None:
        self._snapshots = snapshots
        self._run = run
        self._seq = seq
        self._messages = messages
        self._writing: asyncio.Task[None] | None = None

    def offer(self, head: Head, state: RunState) -> None:
        """Look at the state after a commit; keep it when enough has come since the last one."""
        if head.seq - self._seq < EVERY or self._writing is not None or state.doubts:
            return
        self._seq = head.seq
        self._writing = asyncio.ensure_future(self._write(head, state))

    async def finish(self) -> None:
        """Wait for what is being written."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write(self, head: Head, state: RunState) -> None:
        try:
            await asyncio.to_thread(keep, self._snapshots, self._run, head, state, self._messages)
            self._messages = len(state.history)
        except ArtificerError as error:  # the run itself is whole, and recorded
            log.warning("no snapshot of run %s: %s", self._run, error.message)
        finally:
            self._writing = None


def keep(snapshots: Snapshots, run: str, head: Head, state: RunState, before: int) -> None:
    """Keep a state. ``before`` is how many of its messages are in store already."""
    bare = {"history": MessageHistory(), "call_ids": (), "spec": None, "context_tokens": 0}
    kept = _Kept(
        release=RELEASE,
        seq=head.seq,
        hash=head.hash,
        messages=len(state.history),
        state=state.replace(**bare, doubts=()),
    )
    chunk = b"\n".join(message.identity() for message in state.history[before:])
    snapshots.put(run, kept.canonical(), before, chunk)


async def restore(
    journal: Journal, blobs: BlobStore, snapshots: Snapshots | None, run: str
) -> Loaded:
    """Read a run from its last snapshot on, or whole where none is proven.

    Raises what :func:`artificer.runtime.load.load` does.
    """
    if snapshots is None:
        return await load(journal, blobs, run)
    try:
        found = await asyncio.to_thread(snapshots.get, run)
        if found is not None:
            start, state, intents = await _proven(journal, blobs, run, *found)
            records = await journal.read(run, start.seq)
            loaded = follow(run, state, intents, start, records, blobs)
            return structs.replace(loaded, kept=len(state.history))
    except (ArtificerError, ValueError) as error:
        why = error.message if isinstance(error, ArtificerError) else type(error).__name__
        log.warning("the snapshot of run %s is not used: %s", run, why)
    return await load(journal, blobs, run)


class RunStores(Protocol):
    """The parts of a `Storage` that a run is read from."""

    @property
    def journal(self) -> Journal: ...

    @property
    def blobs(self) -> BlobStore: ...

    @property
    def snapshots(self) -> Snapshots | None: ...


async def restored(storage: RunStores, run: str) -> Loaded:
    """Return a run as it stands now. Raises NotFoundError, TamperedError."""
    return await restore(storage.journal, storage.blobs, storage.snapshots, run)


async def state_of(storage: RunStores, run: str) -> RunState:
    """Return the state of a run as it stands now. Raises NotFoundError, TamperedError."""
    return (await restored(storage, run)).state


async def _proven(
    journal: Journal, blobs: BlobStore, run: str, body: bytes, chunks: Sequence[bytes]
) -> tuple[Head, RunState, dict[int, Intent]]:
    """A snapshot's place, state and pending intents. Raises TamperedError if one is unproven."""
    try:
        kept = _Kept.read(body)
    except InvalidValueError as error:
        raise TamperedError("it cannot be read") from error
    if kept.release != RELEASE:
        raise TamperedError(f"it was written by release {kept.release}")
    bodies = b"\n".join(chunks).split(b"\n") if chunks else []
    history = _history(bodies, kept)
    walk = _Walk(journal, run, Head(seq=kept.seq, hash=kept.hash))
    intents = await walk.back(kept.state, blobs)
    spec = await _spec(journal, blobs, run, kept.state)
    state = kept.state.replace(
        history=MessageHistory(history),
        call_ids=_call_ids(history),
        spec=spec,
        context_tokens=_context(walk, spec, kept.state.window, history, bodies),
    )
    if state.digest != walk.state or spec.digest != state.spec_digest:
        raise TamperedError("it is not the state that the journal recorded there")
    return walk.start, state, intents


def _history(bodies: Sequence[bytes], kept: _Kept) -> tuple[Message, ...]:
    """The conversation, proven by the chain of its digest."""
    chain = RunState().history_digest
    for body in bodies:
        chain = digest_of(chain.encode() + body)
    if chain != kept.state.history_digest or len(bodies) != kept.messages:
        raise TamperedError("its conversation is another one")
    try:
        messages = _messages.from_json([_typed(json.loads(body)) for body in bodies])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise TamperedError("its conversation cannot be read") from error
    if any(
        b'"status":"ambiguous"' in body for body in bodies
    ):  # in a text its quotation marks would be escaped
        # What is still in doubt follows from records, not from the state.
        raise TamperedError("calls of it were ambiguous")
    return messages


def _typed(message: Any) -> Any:
    """A message with the types of its blocks, which its digest is made without."""
    for block in message["blocks"]:
        found = next((_BLOCKS[n] for n in _BLOCKS if n in block), TextBlock.type)
        block.setdefault("type", found)  # an attachment has its own
    return message


def _call_ids(history: Sequence[Message]) -> CallIds:
    """The ids of all calls, added turn by turn as they were."""
    used: CallIds = ()
    for message in history:
        if message.role == "assistant":
            used = with_ids(used, (call.id for call in message.calls))
    return used


async def _spec(journal: Journal, blobs: BlobStore, run: str, state: RunState) -> RunSpec:
    """The spec that the run began with, or what it had become by falling back."""
    (first,) = await journal.read(run, 0, limit=1)
    line = decode(first.body, blobs.get)
    if not isinstance(line, EventLine) or not isinstance(line.event, PromptReceived):
        raise TamperedError("the run does not begin with its prompt")
    spec = line.event.spec
    while spec.fallbacks and spec.digest != state.spec_digest:
        spec = spec.fallen_back()
    return spec


class _Walk:
    """The way back from a snapshot's record, each record proven by the one after it.

    ``state`` is the digest of the last state, ``counted`` the usage of the last reply that a
    provider counted, ``replies`` how many of the last messages of the model were read. ``cut``
    says that the window moved after that, which restarts the count.
    """

    def __init__(self, journal: Journal, run: str, start: Head) -> None:
        self.start = start
        self.state: str | None = None
        self.counted: Usage | None = None
        self.replies = 0
        self.cut = False
        self.began = False
        self._journal = journal
        self._run = run

    async def back(self, state: RunState, blobs: BlobStore) -> dict[int, Intent]:
        """Go back as far as it takes; return the intents that are pending in the state."""
        waiting = {pending.n for pending in state.pending}
        intents: dict[int, Intent] = {}
        seq, expected = self.start.seq, self.start.hash
        while seq > 0 and (self.state is None or waiting or not (self.cut or self.counted)):
            if self.start.seq - seq >= FARTHEST:
                raise TamperedError("what it needs is too far back")
            page = await self._page(seq)
            for record in reversed(page):
                body = json.loads(record.body)
                if record.hash != expected:
                    raise TamperedError("its record is another one")
                expected = body["prev"]
                seq -= 1
                if body["kind"] == "intent" and body["intent"]["n"] in waiting:
                    line = decode(record.body, blobs.get)
                    assert isinstance(line, IntentLine)
                    intents[line.intent.n] = line.intent
                    waiting.discard(line.intent.n)
                elif body["kind"] == "event":
                    self.state = self.state or body["state"]
                    self._count(body["event"], state.window.start)
        self.began = seq == 0
        return intents

    async def _page(self, seq: int) -> list[Record]:
        first = max(0, seq - PAGE)
        page = await self._journal.read(self._run, first, seq - first)
        if len(page) != seq - first:
            raise TamperedError("its record is not there")
        return page

    def _count(self, event: dict[str, Any], start: int) -> None:
        if self.counted is not None or self.cut:
            return
        self.cut = event["type"] in _MOVES and event["upto"] == start
        if event["type"] != "ModelResponded":
            return
        speaks = any(block["type"] != "reasoning" for block in event["blocks"])
        usage = event["usage"]
        if usage["input_tokens"]:
            if not speaks:
                raise TamperedError("its context cannot be counted")
            self.counted = Usage.from_json(usage)
        self.replies += speaks


def _context(
    walk: _Walk,
    spec: RunSpec,
    window: Window,
    history: Sequence[Message],
    bodies: Sequence[bytes],
) -> int:
    """The tokens of the next request: the last count of the provider, and what came after it."""
    sizes = [tokens_of(b) + m.attached_tokens for b, m in zip(bodies, history, strict=True)]
    if walk.cut:
        return window.tokens + sum(sizes[window.messages :])
    if walk.counted is None:
        return spec.fixed_tokens + sum(sizes)
    spoken = [number for number, m in enumerate(history) if m.role == "assistant"]
    after = spoken[-walk.replies] + 1
    counted = context_after(spec, walk.counted, history[after - 1])
    return counted + sum(sizes[after:])
