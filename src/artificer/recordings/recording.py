"""Recordings: runs in files, read, checked and added to a world."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from artificer.core.events import PromptReceived
from artificer.core.record import Line, events_of
from artificer.core.signal_events import taken
from artificer.errors import OperatorError, TamperedError
from artificer.ports import BlobStore, Head, Joined, Journal, Provider, Record, Signalled
from artificer.recordings.export import gather
from artificer.recordings.file import RecordingHeader, blob_of, decompress, to_file
from artificer.runtime.load import load, read_chain
from artificer.runtime.proving.replay import replay
from artificer.runtime.proving.verify import cited
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.values.arguments import is_file_name
from artificer.values.canon import digest_of


@dataclass(frozen=True)
class Recording:
    """A recorded run in in-memory stores. ``state`` is the digest that a replay must reach."""

    run: str
    state: str
    journal: MemoryJournal
    blobs: MemoryStore


async def import_into(recording: Recording, journal: Journal, blobs: BlobStore) -> bool:
    """Add a recording's run to a world. Return False if the run is already there.

    Blobs that the run does not refer to are left out. Call :func:`check` first on a recording
    from an untrusted source.

    Raises:
        OperatorError: the world has another run with this id.
        NotFoundError: a blob is missing.
    """
    run = recording.run
    loaded, wanted = await gather(recording.journal, recording.blobs, run)
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


_AGAIN = "Copy or export it again: `artificer export RUN`."


async def read_recording(data: bytes) -> Recording:
    """Parse a recording, plain or compressed. Nothing in it names a path or is executed.

    Raises:
        TamperedError: it is not a recording, is too long, or its records are not a chain.
    """
    data = decompress(data)
    try:
        first, *lines = [json.loads(line) for line in data.decode().removesuffix("\n").split("\n")]
        header = RecordingHeader.from_json(first)
        if data != to_file([first, *lines]):
            raise ValueError("not as it was written")
        if (header.head is None) != (header.cassette == 1):
            raise ValueError("its format and its head do not match")
        if not is_file_name(header.run):
            raise ValueError("not a valid run id")
        bodies = [line["record"].encode() for line in lines if "record" in line]
        contents = [blob_of(line) for line in lines if "record" not in line]
        if not bodies:
            raise ValueError("no records")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f": {error}" if type(error) is ValueError else ""
        raise TamperedError(
            f"This file is not a recording{why}.", hint="`artificer export` writes recordings."
        ) from error
    recording = Recording(header.run, header.state, MemoryJournal(), MemoryStore())
    for content in contents:
        recording.blobs.put(content)
    records = [Record(header.run, seq, digest_of(body), body) for seq, body in enumerate(bodies, 1)]
    try:
        read = list(read_chain(header.run, records, recording.blobs))
    except TamperedError as error:
        error.hint = _AGAIN  # it is the file that is damaged, not a journal here
        raise
    lease = await recording.journal.acquire(header.run)
    head = await recording.journal.append(header.run, lease.epoch, Head(), records)
    if header.head is not None and header.head != head:
        raise TamperedError(
            f"The run in this file ends at record {head.seq} with the hash {head.hash}, but its "
            f"header says record {header.head.seq} with {header.head.hash}.",
            hint=_AGAIN,
        )
    await _import_signals(recording.journal, header.run, head, read)
    return recording


async def _import_signals(journal: Journal, run: str, head: Head, lines: Sequence[Line]) -> None:
    """Note in a journal up to which signal an imported run has read elsewhere.

    Workers leave a run alone that was submitted elsewhere: what it does was not wanted here.
    """
    last = max((number for _, number in taken(lines)), default=0)
    if (last or _was_submitted(lines)) and isinstance(journal, Signalled):
        await journal.note_import(run, head, last)


def _was_submitted(lines: Sequence[Line]) -> bool:
    first = events_of(lines[:1])
    return any(isinstance(e, PromptReceived) and e.spec.submission is not None for e in first)


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
