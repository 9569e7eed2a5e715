"""A run as a row of a list, made from its first record and its state."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from artificer.builds.scheduler import failed_work, question_of
from artificer.builds.state import consents_of
from artificer.core.events import PromptReceived, RunFinished
from artificer.core.record import EventLine, decode
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.tombstone import tombstone
from artificer.errors import TamperedError
from artificer.ports import BlobStore, Head, IndexedRun, Record
from artificer.runtime.listing.queued import is_queued
from artificer.runtime.waiting import questions_of
from artificer.values.words import words_of

SHOWN_PROMPT = 500
"""Characters of a prompt that lists show."""

SEARCHED_PROMPT = 10_000
"""Characters of a prompt whose words lists find."""

ENDED = frozenset({"completed", "partial", "failed", "cancelled", "pruned"})
"""How a run stands whose last record says so."""

STANDING = frozenset({"open", "waiting", "paused", "stalled"})
"""How a run stands that is not finished."""


class RunBeginning(Struct, frozen=True):
    """How a run began: as its first record says."""

    at: int
    spec: RunSpec


def beginning(record: Record, blobs: BlobStore) -> RunBeginning:
    """Return how a run began. Raises TamperedError, NotFoundError."""
    line = decode(record.body, blobs.get)
    if not isinstance(line, EventLine) or not isinstance(line.event, PromptReceived):
        raise TamperedError(f"Run {record.run} does not begin with its prompt.")
    return RunBeginning(line.event.at, line.event.spec)


def ending(record: Record, blobs: BlobStore) -> str | None:
    """Return how a run has ended, if its last record says so. Raises TamperedError."""
    if tombstone(record.body):
        return "pruned"
    if b'"RunFinished"' not in record.body:
        return None
    line = decode(record.body, blobs.get)
    if isinstance(line, EventLine) and isinstance(line.event, RunFinished):
        return line.event.status
    return None


def row_of(run: str, head: Head, begun: RunBeginning, state: RunState) -> IndexedRun:
    """Return the row of a run in its current state."""
    questions, status = _questions(run, state), state.standing
    return IndexedRun(
        run,
        head.seq,
        head.hash,
        status,
        **facts_of(run, begun),
        changed=state.now,
        waiting=questions > 0 or status == "waiting",
        questions=questions,
        turns=state.turn,
        tokens=state.usage.input_tokens + state.usage.output_tokens,
        cost_micros=state.cost_micros,
        queued=is_queued(begun.spec, status, head.seq),
    )


def facts_of(run: str, begun: RunBeginning) -> dict[str, Any]:
    """Return the members of a row that the first record decides."""
    spec = begun.spec
    return {
        "begun": begun.at,
        "kind": spec.kind,
        "model": spec.full_name,
        "agent": _agent(run, spec),
        "parent": spec.parent,
        "prompt": spec.prompt[:SHOWN_PROMPT],
        "words": words_of(spec.prompt[:SEARCHED_PROMPT]),
    }


def _agent(run: str, spec: RunSpec) -> str:
    """Return the name by which another run called this one's agent: its id ends in it."""
    if not spec.parent or spec.kind in ("build", "plan", "spec", "phase", "code", "judge"):
        return ""
    return run.removeprefix(f"{spec.parent}.").rpartition("-")[0]


def _questions(run: str, state: RunState) -> int:
    """Return how many decisions of a person a run waits for, itself."""
    if state.status is not None:
        return 0
    build = state.build
    if build is None:
        return len(questions_of(run, state)) + len(state.doubts)
    return (question_of(build) is not None) + len(consents_of(build)) + len(failed_work(build))
