"""Recordings: a run's records and blobs in one file, to be replayed anywhere.

``docs/reference/recordings.md`` describes the format for other programs.

The file is JSON lines: first ``{"cassette": 2, "run": ..., "state": ..., "head": ...}`` with the
digest of the run's last state and the number and hash of its last record, then ``{"record": body}``
in order, then ``{"blob": text}`` or, for bytes that are not UTF-8, ``{"blob64": base64}``. Every
byte counts: a changed file does not load, does not verify or does not replay to the same state. A
file of format 1 has no head, so nothing covers the bytes of its last record.
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

from artificer.core.record import Line
from artificer.errors import OperatorError, TamperedError
from artificer.ports import BlobStore, Head, Joined, Journal, Provider, Record
from artificer.runtime.load import Loaded, load, read_chain
from artificer.runtime.replay import replay
from artificer.runtime.signals import Signalled, last_taken
from artificer.runtime.verify import cited
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.values.base import Value
from artificer.values.canon import digest_of

MAX_BYTES = 512 * 1024 * 1024
"""Size of the largest recording that is read, after decompression."""

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""Run ids accepted from a file. A run's id is also the name of a folder."""


class _Header(Value):
    """The first line. ``cassette`` is the number of the format."""

    cassette: Literal[1, 2] = 2
    run: str
    state: str
    head: Head | None = None


@dataclass(frozen=True)
class Recording:
    """A recorded run in in-memory stores. ``state`` is the digest that a replay must reach."""

    run: str
    state: str
    journal: MemoryJournal
    blobs: MemoryStore


async def export(journal: Journal, blobs: BlobStore, run: str) -> bytes:
    """Return a run as the bytes of a recording.

    Raises:
        NotFoundError: there is no such run.
        TamperedError: its journal was changed after it was written.
    """
    loaded, kept = await _gather(journal, blobs, run)
    records = [{"record": record.body.decode()} for record in await journal.read(run)]
    header = _Header(run=run, state=loaded.state.digest, head=loaded.head)
    lines = [header.to_json(), *records, *(_blob(data) for data in kept.values())]
    return _file(lines)


async def _gather(journal: Journal, blobs: BlobStore, run: str) -> tuple[Loaded, dict[str, bytes]]:
    """Load a run and every blob that it refers to."""
    kept = _Reading(blobs)
    loaded = await load(journal, kept, run)
    for line in loaded.lines:
        for digest in cited(line):
            kept.get(digest)
    return loaded, kept.read


async def import_into(recording: Recording, journal: Journal, blobs: BlobStore) -> bool:
    """Add a recording's run to a world. Return False if the run is already there.

    Blobs that the run does not refer to are left out. Call :func:`check` first on a recording
    from an untrusted source.

    Raises:
        OperatorError: the world has another run with this id.
        NotFoundError: a blob is missing.
    """
    run = recording.run
    loaded, wanted = await _gather(recording.journal, recording.blobs, run)
    before = {known.run: known.head for known in await journal.runs() if known.head.seq}
    if run in before:
        if before[run] != loaded.head:
            raise OperatorError(
                f"This world already has another run {run!r}.",
                hint="Import the recording into another project.",
            )
        return False
    apart = [data for data in wanted.values() if not _joins(blobs, data)]
    await asyncio.to_thread(lambda: [blobs.put(data) for data in apart])
    joined = [data for data in wanted.values() if _joins(blobs, data)]
    await _import_signals(journal, run, loaded.head, loaded.lines)
    lease = await journal.acquire(run)
    records = await recording.journal.read(run)
    await journal.append(run, lease.epoch, lease.head, records, joined)
    return True


def _joins(blobs: BlobStore, data: bytes) -> bool:
    return isinstance(blobs, Joined) and blobs.joins(data)


def compress(data: bytes) -> bytes:
    """Compress a recording with gzip. The same run always gives the same bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)  # 31: a gzip header, without a name or time
    return packer.compress(data) + packer.flush()


def decompress(data: bytes, limit: int = MAX_BYTES) -> bytes:
    """Decompress a recording to at most ``limit`` bytes. An uncompressed one is returned as it is.

    Raises:
        TamperedError: it is damaged, has data after its end, or is too long.
    """
    if not data.startswith(b"\x1f\x8b"):
        plain, rest = data, b""
    else:
        unpacker = zlib.decompressobj(31)
        try:
            plain = unpacker.decompress(data, limit + 1)
        except zlib.error as error:
            raise TamperedError(f"This file is not a recording: {error}.") from error
        rest = unpacker.unused_data
        if not unpacker.eof and len(plain) <= limit:
            raise TamperedError("This file is not a recording: it is truncated.")
    if len(plain) > limit:
        raise TamperedError(
            f"This recording is longer than {limit:,} bytes.",
            hint="If you trust the file, read it with a higher limit.",
        )
    if rest:
        raise TamperedError("This file is not a recording: it has data after its end.")
    return plain


def read_file(path: Path) -> bytes:
    """Return a recording's file, up to one byte more than :func:`read_recording` accepts."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


async def read_recording(data: bytes) -> Recording:
    """Parse a recording, plain or compressed. Nothing in it names a path or is executed.

    Raises:
        TamperedError: it is not a recording, is too long, or its records are not a chain.
    """
    data = decompress(data)
    try:
        first, *lines = [json.loads(line) for line in data.decode().removesuffix("\n").split("\n")]
        header = _Header.from_json(first)
        if data != _file([first, *lines]):
            raise ValueError("not as it was written")
        if (header.head is None) != (header.cassette == 1):
            raise ValueError("its format and its head do not match")
        if not RUN_ID.fullmatch(header.run):
            raise ValueError("not a valid run id")
        bodies = [line["record"].encode() for line in lines if "record" in line]
        contents = [_bytes(line) for line in lines if "record" not in line]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TamperedError(f"This file is not a recording: {type(error).__name__}.") from error
    recording = Recording(header.run, header.state, MemoryJournal(), MemoryStore())
    for content in contents:
        recording.blobs.put(content)
    records = [Record(header.run, seq, digest_of(body), body) for seq, body in enumerate(bodies, 1)]
    read = list(read_chain(header.run, records, recording.blobs))
    lease = await recording.journal.acquire(header.run)
    head = await recording.journal.append(header.run, lease.epoch, Head(), records)
    if header.head is not None and header.head != head:
        raise TamperedError(
            f"The run in this file ends at record {head.seq} with the hash {head.hash}, but its "
            f"header says record {header.head.seq} with {header.head.hash}."
        )
    await _import_signals(recording.journal, header.run, head, read)
    return recording


async def _import_signals(journal: Journal, run: str, head: Head, lines: Sequence[Line]) -> None:
    """Tell a journal up to which signal an imported run has read elsewhere."""
    if (taken := last_taken(lines)) and isinstance(journal, Signalled):
        await journal.note_import(run, head, taken)


async def check(recording: Recording, provider: Provider | None) -> list[str]:
    """Replay a recording and return its faults, an empty list if there are none.

    Without a provider, request digests are not recomputed.
    """
    found = await replay(recording.journal, recording.blobs, recording.run, provider)
    loaded = await load(recording.journal, recording.blobs, recording.run)
    wanted = {digest for line in loaded.lines for digest in cited(line)}
    faults = [
        f"the blob {digest} is missing" for digest in wanted if not recording.blobs.has(digest)
    ]
    if found.divergence is not None:
        faults.append(f"record {found.divergence.seq}: {found.divergence.what} differs")
    if found.digest != recording.state:
        faults.append(f"it ends in state {found.digest}, not {recording.state}")
    return faults


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
