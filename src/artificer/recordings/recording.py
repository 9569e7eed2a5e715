"""Cassettes: a run's records and blobs in one file, to be replayed anywhere.

``docs/reference/cassettes.md`` describes the format for other programs.

The file is JSON lines: first ``{"cassette": 2, "run": ..., "state": ..., "head": ...}`` with the
digest of the run's last state and the number and hash of its last record, then ``{"record": body}``
in order, then ``{"blob": text}`` or, for bytes that are no text, ``{"blob64": base64}``. Every byte
of it counts: what was changed does not load, does not verify or does not replay to the same state.
A file of format 1 has no head, and nothing covers the bytes of its last record.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from artificer.core.events import (
    CompactionFailed,
    ContextCompacted,
    ModelFailed,
    ModelResponded,
)
from artificer.core.record import EventLine, IntentLine
from artificer.errors import OperatorError, TamperedError
from artificer.ports import BlobStore, Head, Joined, Journal, Provider, Record
from artificer.providers.recorded import RecordedProvider
from artificer.runtime.load import Line, Loaded, load, read_chain
from artificer.runtime.replay import replay
from artificer.runtime.signals import Signalled, last_taken
from artificer.runtime.verify import cited
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.values.base import Value
from artificer.values.blocks import Block, TextBlock
from artificer.values.canon import digest_of
from artificer.values.model import ModelFailure, ModelReply, StopReason

MOST = 512 * 1024 * 1024
"""Bytes of the longest cassette that is read."""

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""Ids of runs that may come from a file: a run's id is also the name of a folder."""

Answered = ModelResponded | ModelFailed | ContextCompacted | CompactionFailed
"""Events that a request to a model has led to."""

ANSWERS = (ModelResponded, ModelFailed, ContextCompacted, CompactionFailed)

Answers = dict[str, ModelReply | ModelFailure]


class _Header(Value):
    cassette: Literal[1, 2] = 2
    run: str
    state: str
    head: Head | None = None


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
    loaded, kept = await _gather(journal, blobs, run)
    records = [{"record": record.body.decode()} for record in await journal.read(run)]
    header = _Header(run=run, state=loaded.state.digest, head=loaded.head)
    lines = [header.model_dump(), *records, *(_blob(data) for data in kept.values())]
    return _file(lines)


async def _gather(journal: Journal, blobs: BlobStore, run: str) -> tuple[Loaded, dict[str, bytes]]:
    """Read a run, and every blob that it refers to."""
    kept = _Reading(blobs)
    loaded = await load(journal, kept, run)
    for line in loaded.lines:
        for digest in cited(line):
            kept.get(digest)
    return loaded, kept.read


async def keep(cassette: Cassette, journal: Journal, blobs: BlobStore) -> bool:
    """Add a cassette's run to a world, and return whether it was not there before.

    Blobs that the run does not refer to are left out. Who takes a cassette from somebody else
    checks it first.

    Raises:
        OperatorError: another run has that id.
        NotFoundError: a blob is missing.
    """
    run = cassette.run
    loaded, wanted = await _gather(cassette.journal, cassette.blobs, run)
    before = {known.run: known.head for known in await journal.runs() if known.head.seq}
    if run in before:
        if before[run] != loaded.head:
            raise OperatorError(f"There is another run {run!r} already.")
        return False
    apart = [data for data in wanted.values() if not _joins(blobs, data)]
    await asyncio.to_thread(lambda: [blobs.put(data) for data in apart])
    joined = [data for data in wanted.values() if _joins(blobs, data)]
    await _import_signals(journal, run, loaded.head, loaded.lines)
    lease = await journal.acquire(run)
    records = await cassette.journal.read(run)
    await journal.append(run, lease.epoch, lease.head, records, joined)
    return True


def _joins(blobs: BlobStore, data: bytes) -> bool:
    return isinstance(blobs, Joined) and blobs.joins(data)


def pack(data: bytes) -> bytes:
    """Compress a cassette: the same bytes for the same run, every time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)  # 31: a gzip header, without a name or time
    return packer.compress(data) + packer.flush()


def unpack(data: bytes, most: int = MOST) -> bytes:
    """Decompress a cassette, never to more than ``most`` bytes; one that is plain is returned.

    Raises:
        TamperedError: it is damaged, has something behind its end, or is too long.
    """
    if not data.startswith(b"\x1f\x8b"):
        plain, rest = data, b""
    else:
        unpacker = zlib.decompressobj(31)
        try:
            plain = unpacker.decompress(data, most + 1)
        except zlib.error as error:
            raise TamperedError(f"This is no cassette: {error}.") from error
        rest = unpacker.unused_data
        if not unpacker.eof and len(plain) <= most:
            raise TamperedError("This is no cassette: its end is missing.")
    if len(plain) > most:
        raise TamperedError(
            f"This cassette is longer than {most:,} bytes.",
            hint="If you trust it, read it with a higher limit.",
        )
    if rest:
        raise TamperedError("This is no cassette: something stands behind its end.")
    return plain


def read_file(path: Path) -> bytes:
    """A cassette's file, and no more of it than :func:`insert` takes."""
    with path.open("rb") as file:
        return file.read(MOST + 1)


async def insert(data: bytes) -> Cassette:
    """Read a cassette, plain or compressed. Nothing of it names a file or is executed.

    Raises:
        TamperedError: it is not one, is too long, or its records are no chain.
    """
    data = unpack(data)
    try:
        first, *lines = [json.loads(line) for line in data.decode().removesuffix("\n").split("\n")]
        header = _Header.model_validate(first)
        if data != _file([first, *lines]):
            raise ValueError("not as it was written")
        if (header.head is None) != (header.cassette == 1):
            raise ValueError("its format and its head do not fit")
        if not RUN_ID.fullmatch(header.run):
            raise ValueError("not a run's id")
        bodies = [line["record"].encode() for line in lines if "record" in line]
        contents = [_bytes(line) for line in lines if "record" not in line]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TamperedError(f"This is no cassette: {type(error).__name__}.") from error
    cassette = Cassette(header.run, header.state, MemoryJournal(), MemoryStore())
    for content in contents:
        cassette.blobs.put(content)
    records = [Record(header.run, seq, digest_of(body), body) for seq, body in enumerate(bodies, 1)]
    read = list(read_chain(header.run, records, cassette.blobs))
    lease = await cassette.journal.acquire(header.run)
    head = await cassette.journal.append(header.run, lease.epoch, Head(), records)
    if header.head is not None and header.head != head:
        raise TamperedError(
            f"The run of this file ends at record {head.seq} with the hash {head.hash}, and its "
            f"first line says record {header.head.seq} with {header.head.hash}."
        )
    await _import_signals(cassette.journal, header.run, head, read)
    return cassette


async def _import_signals(journal: Journal, run: str, head: Head, lines: Sequence[Line]) -> None:
    """Let a journal know that a run took signals elsewhere."""
    if (taken := last_taken(lines)) and isinstance(journal, Signalled):
        await journal.note_import(run, head, taken)


async def check(cassette: Cassette, provider: Provider | None) -> list[str]:
    """Replay a cassette and return what is wrong with it; empty when nothing is.

    Without a provider the digests of requests are not recomputed.
    """
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
        if isinstance(line, IntentLine) and line.request:
            requests[line.intent.n] = line.request
        if not isinstance(line, EventLine) or not isinstance(line.event, ANSWERS):
            continue
        if line.event.intent in requests:  # a compaction may have asked nobody
            answers[requests[line.event.intent]] = answer_of(line.event, blobs)
    return answers


async def recorded_from(
    journal: Journal, blobs: BlobStore, run: str, original: Provider
) -> RecordedProvider:
    """A provider that answers as ``original`` did in a recorded run. Raises NotFoundError."""
    loaded = await load(journal, blobs, run)
    return RecordedProvider(original, answers_of(loaded.lines, blobs))


def answer_of(event: Answered, blobs: BlobStore) -> ModelReply | ModelFailure:
    """The recorded answer of a model, as a provider gives it."""
    raw = None if event.raw is None else blobs.get(event.raw)
    match event:
        case CompactionFailed(code="empty_summary" | "not_asked", attempts=attempts, usage=usage):
            empty: StopReason = "end_turn"
            return ModelReply(blocks=(), stop=empty, usage=usage, attempts=attempts, raw=raw)
        case ModelFailed(code=code) | CompactionFailed(code=code):
            return ModelFailure.model_validate(
                {"code": code, "message": event.message, "attempts": event.attempts, "raw": raw}
            )
        case ContextCompacted():
            said = TextBlock(text=event.summary)
            return _reply(event, (said,), "end_turn", raw)
        case ModelResponded():
            return _reply(event, event.blocks, event.stop, raw)


def _reply(
    event: ModelResponded | ContextCompacted,
    blocks: tuple[Block, ...],
    stop: StopReason,
    raw: bytes | None,
) -> ModelReply:
    return ModelReply(
        blocks=blocks,
        stop=stop,
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
