"""A run in one line, from its first and last record: a list of runs reads no more than that."""

from __future__ import annotations

from dataclasses import dataclass

from artificer.core.events import ModelFailed, PromptReceived, RunFinished
from artificer.core.record import EventLine, decode
from artificer.errors import ArtificerError
from artificer.ports import BlobStore, Journal, RunHead
from artificer.values.model import RESUMABLE_FAILURES


@dataclass(frozen=True)
class Summary:
    """A run as a list shows it.

    ``at`` is when it began, in milliseconds since 1970-01-01 UTC. ``status`` is that of its
    deliverable, ``stalled``, ``open``, or ``unreadable`` when a record is not what was written.
    """

    run: str
    records: int
    status: str
    at: int = 0
    kind: str = ""
    model: str = ""
    prompt: str = ""


async def summarise(journal: Journal, blobs: BlobStore, head: RunHead) -> Summary:
    """Summarise a run that has records. One that cannot be read is a summary too."""
    run, seq = head.run, head.head.seq
    try:
        (first,) = await journal.read(run, 0, limit=1)
        (last,) = await journal.read(run, seq - 1, limit=1)
        begun, newest = decode(first.body, blobs.get), decode(last.body, blobs.get)
    except (ArtificerError, ValueError):
        return Summary(run, seq, "unreadable")
    if not isinstance(begun, EventLine) or not isinstance(begun.event, PromptReceived):
        return Summary(run, seq, "unreadable")
    spec = begun.event.spec
    return Summary(
        run,
        seq,
        _status(newest.event) if isinstance(newest, EventLine) else "open",
        begun.event.at,
        spec.kind,
        f"{spec.provider}/{spec.model}",
        spec.prompt,
    )


def _status(event: object) -> str:
    """What the last record says: it is the last, so nothing came of a failure."""
    match event:
        case RunFinished(status=status):
            return status
        case ModelFailed(code=code) if code in RESUMABLE_FAILURES:
            return "stalled"
        case _:
            return "open"
