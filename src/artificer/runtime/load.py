"""Reading a run back from the journal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from artificer.core.events import PromptReceived, RunPruned
from artificer.core.intents import Intent
from artificer.core.record import EventLine, IntentLine, Line, decode
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.errors import (
    ArtificerError,
    AuthorError,
    BugError,
    NotFoundError,
    OperatorError,
    TamperedError,
)
from artificer.ports import BlobStore, CheckedRecord, Head, Journal, Record
from artificer.values.canon import digest_of

UNREADABLE = (NotFoundError, TamperedError, AuthorError, BugError)
"""Errors of a run that is gone or damaged. Others pass, as when a server does not answer."""

UNREDUCED = (ArtificerError, ValueError, TypeError, LookupError, AttributeError, StopIteration)
"""Errors of reducing an event that is not ours: anyone who writes a file can chain any event."""


class Loaded(Struct, frozen=True):
    """A run, loaded from its journal. ``open`` are the intents without a receipt, by number.

    ``lines`` are all its records; those after a snapshot where it was restored from one, of which
    ``kept`` messages are in store.
    """

    run: str
    state: RunState
    head: Head
    open: tuple[Intent, ...]
    lines: tuple[Line, ...]
    kept: int = 0

    @property
    def tombstone(self) -> RunPruned | None:
        """The tombstone in which a run ends whose records have not been emptied yet."""
        last = self.lines[-1] if self.lines else None
        event = last.event if isinstance(last, EventLine) else None
        return event if isinstance(event, RunPruned) else None


def read_chain(
    run: str, records: Sequence[Record], blobs: BlobStore, start: Head | None = None
) -> Iterator[Line]:
    """Decode records one by one, each verified to follow the one before it, from ``start`` on.

    Raises:
        TamperedError: a record was changed, removed, added or moved, or its blob is gone.
    """
    start = start or Head()
    prev, fetch = start.hash, blobs.get
    for seq, record in enumerate(records, start.seq + 1):
        if record.seq != seq:
            raise _tampered(run, seq, " is missing.")
        if type(record) is not CheckedRecord and digest_of(record.body) != record.hash:
            raise _tampered(run, seq, ": its bytes were changed.")
        try:
            line = decode(record.body, fetch)
        except NotFoundError as error:
            raise _tampered(run, seq, f" lacks what it cites: {error.message}") from error
        if line.prev != prev or line.seq != seq or line.run != run:
            raise _tampered(run, seq, " does not follow its predecessor.")
        prev = record.hash
        yield line


def _tampered(run: str, seq: int, what: str) -> TamperedError:
    return TamperedError(
        f"Run {run}, record {seq}{what}",
        hint="Run `artificer verify` to see the damage; restore the journal from a backup.",
    )


async def read_records(journal: Journal, run: str) -> list[Record]:
    """Return the run's records. Raises NotFoundError when there are none."""
    records = await journal.read(run)
    if not records:
        raise no_run(run)
    return records


def no_run(run: str) -> NotFoundError:
    """The error for a run that the journal does not know."""
    return NotFoundError(f"Run {run!r} does not exist.", hint="`artificer runs` lists them.")


async def load(journal: Journal, blobs: BlobStore, run: str) -> Loaded:
    """Read a run and reduce it to its present state.

    Raises:
        NotFoundError: no such run.
        TamperedError: a record is not what was written, or reduces to another state.
    """
    records = await read_records(journal, run)
    return follow(run, RunState(), {}, Head(), records, blobs)


def follow(
    run: str,
    state: RunState,
    intents: dict[int, Intent],
    start: Head,
    records: Sequence[Record],
    blobs: BlobStore,
) -> Loaded:
    """Reduce what follows a state, whose pending ``intents`` are given by number.

    Raises:
        TamperedError: a record is not what was written, or reduces to another state.
    """
    lines = tuple(read_chain(run, records, blobs, start))
    for line in lines:
        if isinstance(line, IntentLine):
            intents[line.intent.n] = line.intent
            continue
        try:
            state, _ = reduce(state, line.event)
        except OperatorError:
            raise
        except UNREDUCED as error:
            raise TamperedError(
                f"Run {run}, record {line.seq} does not follow from the previous ones.",
                hint=f"`artificer replay {run}` shows the details.",
            ) from error
        if state.digest != line.state:
            raise TamperedError(
                f"Run {run}, record {line.seq} reduces to a state other than the recorded one.",
                hint=f"`artificer replay {run}` names the first divergence.",
            )
    head = Head(seq=records[-1].seq, hash=records[-1].hash) if records else start
    if any(pending.n not in intents for pending in state.pending):
        raise TamperedError(
            f"Run {run} ends within a commit: record {head.seq + 1} is missing.",
            hint="Run `artificer verify` to see the damage; restore the journal from a backup.",
        )
    return Loaded(run, state, head, tuple(intents[p.n] for p in state.pending), lines)


def first_spec_of(loaded: Loaded) -> RunSpec:
    """Return the spec that a run began with; its state has another one when it has fallen back."""
    first = loaded.lines[0]
    if isinstance(first, EventLine) and isinstance(first.event, PromptReceived):
        return first.event.spec
    return loaded.state.run_spec


async def first_spec(journal: Journal, blobs: BlobStore, run: str) -> RunSpec | None:
    """Return the spec of a run, or None if its first record does not contain one."""
    records = await journal.read(run, limit=1)
    if not records:
        raise no_run(run)
    try:
        line = decode(records[0].body, blobs.get)
    except UNREADABLE:
        return None
    if isinstance(line, EventLine) and isinstance(line.event, PromptReceived):
        return line.event.spec
    return None
