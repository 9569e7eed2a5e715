"""A run in one line, from its first and last record when it is finished."""

from __future__ import annotations

from msgspec import Struct

from artificer.core.events import PromptReceived, RunFinished
from artificer.core.record import EventLine, IntentLine, decode
from artificer.core.tombstone import tombstone
from artificer.errors import ArtificerError
from artificer.ports import BlobStore, Journal, RunHead
from artificer.runtime.listing.queued import waits_for_worker
from artificer.runtime.load import load


class RunSummary(Struct, frozen=True):
    """A run as a list shows it.

    ``at`` is when it began, in milliseconds since 1970-01-01 UTC: for a fork, when its origin did;
    ``changed`` is when its last event was. ``status`` is that of its
    deliverable, how it stands without one, or ``unreadable`` when a record is not what was written.
    A ``queued`` one was submitted, and no worker has begun it.
    """

    run: str
    records: int
    status: str
    at: int = 0
    kind: str = ""
    model: str = ""
    prompt: str = ""
    queued: bool = False
    changed: int = 0


async def summarise(journal: Journal, blobs: BlobStore, head: RunHead) -> RunSummary:
    """Summarise a run that has records. One that cannot be read is a summary too."""
    run, seq = head.run, head.head.seq
    try:
        (last,) = await journal.read(run, seq - 1, limit=1)
        if tombstone(last.body):
            return RunSummary(run, seq, "pruned")
        (first,) = await journal.read(run, 0, limit=1)
        begun, newest = decode(first.body, blobs.get), decode(last.body, blobs.get)
        status, changed = await _standing(journal, blobs, run, newest)
        if not isinstance(begun, EventLine) or not isinstance(begun.event, PromptReceived):
            return RunSummary(run, seq, "unreadable")
        spec = begun.event.spec
        queued = await waits_for_worker(journal, run, spec, status, seq)
    except (ArtificerError, ValueError):
        return RunSummary(run, seq, "unreadable")
    at = begun.event.at
    return RunSummary(run, seq, status, at, spec.kind, spec.full_name, spec.prompt, queued, changed)


async def _standing(
    journal: Journal, blobs: BlobStore, run: str, newest: EventLine | IntentLine
) -> tuple[str, int]:
    """Return the status and the time in a finished run's last record, or else in the state."""
    if isinstance(newest, EventLine) and isinstance(newest.event, RunFinished):
        return newest.event.status, newest.event.at
    state = (await load(journal, blobs, run)).state
    return state.standing, state.now
