"""Cassettes: a run's records and blobs in one file, to be replayed anywhere.

The file is JSON lines: first ``{"cassette": 1, "run": ..., "state": ...}`` with the digest of the
run's last state, then ``{"record": body}`` in order, then ``{"blob": text}`` or, for bytes that
are no text, ``{"blob64": base64}``. Every byte of it counts: what was changed does not load, does
not verify or does not replay to the same state.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from artificer.core.events import ModelFailed, ModelResponded
from artificer.core.intents import Generate
from artificer.core.record import EventLine, IntentLine
from artificer.errors import TamperedError
from artificer.journal.memory import MemoryJournal
from artificer.ports import BlobStore, Head, Journal, Provider, Record
from artificer.providers.recorded import RecordedProvider
from artificer.runtime.load import Line, load, read_chain
from artificer.runtime.replay import replay
from artificer.runtime.verify import cited
from artificer.store.memory import MemoryStore
from artificer.values.base import Value
from artificer.values.canon import digest_of
from artificer.values.model import ModelFailure, ModelReply

Answers = dict[str, ModelReply | ModelFailure]


class _Header(Value):
    cassette: Literal[1] = 1
    run: str
    state: str


@dataclass(frozen=True)
class Cassette:
    """A recorded run in stores of its own. ``state`` is the digest it must come to."""

    run: str
    state: str
    journal: MemoryJournal
    blobs: MemoryStore


async def dump(journal: Journal, blobs: BlobStore, run: str) -> bytes:
    """Write a run as a cassette.

    Raises:
        NotFoundError: no such run.
        TamperedError: its journal is not what was written.
    """
    kept = _Reading(blobs)
    loaded = await load(journal, kept, run)
    for line in loaded.lines:
        for digest in cited(line):
            kept.get(digest)
    records = [{"record": record.body.decode()} for record in await journal.read(run)]
    header = _Header(run=run, state=loaded.state.digest)
    lines = [header.model_dump(), *records, *(_blob(data) for data in kept.read.values())]
    return _file(lines)


async def insert(data: bytes) -> Cassette:
    """Read a cassette.

    Raises:
        TamperedError: it is not one, or its records are no chain.
    """
    try:
        first, *lines = [json.loads(line) for line in data.decode().removesuffix("\n").split("\n")]
        header = _Header.model_validate(first)
        if data != _file([first, *lines]):
            raise ValueError("not as it was written")
        bodies = [line["record"].encode() for line in lines if "record" in line]
        contents = [_bytes(line) for line in lines if "record" not in line]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TamperedError(f"This is no cassette: {type(error).__name__}.") from error
    cassette = Cassette(header.run, header.state, MemoryJournal(), MemoryStore())
    for content in contents:
        cassette.blobs.put(content)
    records = [Record(header.run, seq, digest_of(body), body) for seq, body in enumerate(bodies, 1)]
    for _ in read_chain(header.run, records, cassette.blobs):
        pass
    lease = await cassette.journal.acquire(header.run)
    await cassette.journal.append(header.run, lease.epoch, Head(), records)
    return cassette


async def check(cassette: Cassette, provider: Provider) -> list[str]:
    """Replay a cassette and return what is wrong with it; empty when nothing is."""
    found = await replay(cassette.journal, cassette.blobs, cassette.run, provider)
    loaded = await load(cassette.journal, cassette.blobs, cassette.run)
    wanted = {digest for line in loaded.lines for digest in cited(line)}
    faults = [
        f"the blob {digest} is missing" for digest in wanted if not cassette.blobs.has(digest)
    ]
    if found.divergence is not None:
        faults.append(f"record {found.divergence.seq}: {found.divergence.what} differs")
    if found.digest != cassette.state:
        faults.append(f"it ends in the state {found.digest}, not {cassette.state}")
    return faults


def answers_of(lines: Iterable[Line], blobs: BlobStore) -> Answers:
    """Every recorded answer by the digest of its request; of several, the last."""
    requests: dict[int, str] = {}
    answers: Answers = {}
    for line in lines:
        if isinstance(line, IntentLine) and isinstance(line.intent, Generate) and line.request:
            requests[line.intent.n] = line.request
        if isinstance(line, EventLine) and isinstance(line.event, ModelResponded | ModelFailed):
            answers[requests[line.event.intent]] = _answer(line.event, blobs)
    return answers


async def recorded_from(
    journal: Journal, blobs: BlobStore, run: str, original: Provider
) -> RecordedProvider:
    """A provider that answers as ``original`` did in a recorded run. Raises NotFoundError."""
    loaded = await load(journal, blobs, run)
    return RecordedProvider(original, answers_of(loaded.lines, blobs))


def _answer(event: ModelResponded | ModelFailed, blobs: BlobStore) -> ModelReply | ModelFailure:
    raw = None if event.raw is None else blobs.get(event.raw)
    if isinstance(event, ModelFailed):
        return ModelFailure(
            code=event.code, message=event.message, attempts=event.attempts, raw=raw
        )
    return ModelReply(
        blocks=event.blocks,
        stop=event.stop,
        usage=event.usage,
        model=event.model,
        response_id=event.response_id,
        attempts=event.attempts,
        raw=raw,
    )


class _Reading:
    """A blob store that remembers what was read from it."""

    def __init__(self, inner: BlobStore) -> None:
        self._inner = inner
        self.read: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        return self._inner.put(data)

    def get(self, digest: str) -> bytes:
        data = self.read[digest] = self._inner.get(digest)
        return data

    def has(self, digest: str) -> bool:
        return self._inner.has(digest)

    def digests(self) -> Iterable[str]:
        return self._inner.digests()


def _file(lines: Sequence[object]) -> bytes:
    """One line for each, in ASCII, so that no line break hides in a text."""
    texts = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) for line in lines)
    return "".join(text + "\n" for text in texts).encode()


def _blob(data: bytes) -> dict[str, str]:
    try:
        return {"blob": data.decode()}
    except UnicodeDecodeError:
        return {"blob64": base64.b64encode(data).decode()}


def _bytes(line: dict[str, str]) -> bytes:
    if "blob" in line:
        return line["blob"].encode()
    return base64.b64decode(line["blob64"], validate=True)
