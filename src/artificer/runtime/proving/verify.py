"""Verifying a world: every record, every chain, every blob (invariant 12)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field, structs

from artificer.artifacts.ref import ArtifactRef
from artificer.contracts.evidence import kept_by
from artificer.core import events as ev
from artificer.core.record import EventLine, Line
from artificer.core.tombstone import tombstone
from artificer.errors import ArtificerError, NotFoundError, OperatorError
from artificer.ports import Auditable, BlobStore, Head, Journal, Record, RunHead
from artificer.runtime.load import UNREDUCED, read_chain
from artificer.runtime.progress import ReportProgress, unreported
from artificer.runtime.proving.bindings import unfaithful_lines
from artificer.runtime.proving.kept import WORLD, Compared, KeptHeads, compare_head, compare_world
from artificer.runtime.proving.signals import check_signals
from artificer.values.base import Value
from artificer.values.blocks import AttachedBlock


class Verification(Struct):
    """The result of a verification: what was checked, and what is wrong.

    ``heads`` and ``world`` can be kept elsewhere; ``against`` is what became of those that were.
    ``bindings`` are the artifacts that do not follow from their data, which ``problems`` name too:
    each with its run, its record, the pointer of its binding and the label of its data.
    """

    runs: int = 0
    records: int = 0
    blobs: int = 0
    heads: dict[str, Head] = field(default_factory=dict)
    world: Head | None = None
    against: list[Compared] = field(default_factory=list)
    bindings: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def facts(self) -> dict[str, Any]:
        """Return the members as JSON values."""
        return {
            **structs.asdict(self),
            "heads": {run: head.to_json() for run, head in self.heads.items()},
            "world": self.world and self.world.to_json(),
            "against": {
                found.name: {"relation": found.relation, "kept": found.kept, "now": found.now}
                for found in self.against
            },
        }


async def verify(
    journal: Journal,
    blobs: BlobStore,
    kept: KeptHeads | None = None,
    progress: ReportProgress = unreported,
) -> Verification:
    """Check everything, and continue after a problem to find the others.

    ``kept`` are heads of before: what does not continue from them is a problem too.

    Raises:
        OperatorError: this journal cannot compare heads.
    """
    result = Verification()
    if isinstance(journal, Auditable):
        result.problems += await journal.audit()
        await _compare(journal, kept or KeptHeads(), result)
    elif kept is not None:
        raise OperatorError(
            "This world's storage cannot compare its journal with kept heads.",
            hint="Verify it without heads: artificer verify",
        )
    heads: list[RunHead] = []
    try:
        heads = await journal.runs()
    except ArtificerError as error:
        result.problems.append(error.message)
    for number, head in enumerate(heads, 1):
        await _check_run(journal, blobs, head, result)
        progress("verifying runs", number, len(heads))
    await asyncio.to_thread(_check_blobs, blobs, result, progress)
    result.problems = list(dict.fromkeys(result.problems))
    return result


async def _compare(journal: Auditable, kept: KeptHeads, result: Verification) -> None:
    try:
        tip = await journal.tip()
        result.world = Head(seq=tip.position, hash=tip.world)
        for name, head in kept.heads.items():
            if name == WORLD:
                then = head.hash if head.seq == 0 else await journal.world_at(head.seq)
                found = compare_world(head, tip.position, then)
            else:
                found = compare_head(name, head, await journal.hashes(name) or None)
            result.against.append(found)
            result.problems += [found.why] if found.why else []
    except ArtificerError as error:
        result.problems.append(error.message)


async def _check_run(
    journal: Journal, blobs: BlobStore, head: RunHead, result: Verification
) -> None:
    result.runs += 1
    result.heads[head.run] = head.head
    lines: list[Line] = []
    try:
        start, records = await _kept(journal, head)
        for line in read_chain(head.run, records, blobs, start):
            result.records += 1
            lines.append(line)
            for digest in cited(line):
                if not blobs.has(digest):
                    result.problems.append(
                        f"Run {head.run}, record {line.seq} cites the blob {digest}, "
                        "which is missing."
                    )
        last = (records[-1].seq, records[-1].hash) if records else (0, "")
        if last != (head.head.seq, head.head.hash):
            result.problems.append(f"Run {head.run} does not end where the journal says.")
        result.problems += await check_signals(journal, head.run, lines)
        _check_bindings(head.run, lines, blobs, result)
    except ArtificerError as error:
        result.problems.append(error.message)


def _check_bindings(run: str, lines: list[Line], blobs: BlobStore, result: Verification) -> None:
    """Note each artifact that does not follow from the data it is bound to."""
    try:
        for seq, found in unfaithful_lines(lines, blobs):
            result.problems.append(f"Run {run}, record {seq}: {found.sentence()}.")
            result.bindings.append({"run": run, "record": seq, **found._asdict()})
    except UNREDUCED:
        result.problems.append(
            f"Run {run}: its bindings cannot be checked: `artificer replay {run}` says why."
        )


async def _kept(journal: Journal, head: RunHead) -> tuple[Head, list[Record]]:
    """The records that say something, and where they begin: a pruned run has its tombstone."""
    last = head.head.seq
    tail = await journal.read(head.run, last - 1, 1) if last else []
    upto = tombstone(tail[0].body) if tail else 0
    if not upto:
        return Head(), await journal.read(head.run, limit=last)
    try:
        return Head(), await journal.read(head.run, limit=last)  # marked, and not yet removed
    except NotFoundError:
        return Head(seq=upto, hash=json.loads(tail[0].body)["prev"]), tail


def _check_blobs(blobs: BlobStore, result: Verification, progress: ReportProgress) -> None:
    for digest in blobs.digests():
        result.blobs += 1
        progress("verifying blobs", result.blobs, 0)
        try:
            blobs.get(digest)
        except ArtificerError as error:
            result.problems.append(error.message)


def cited(line: Line) -> Iterator[str]:
    """The blobs that a record cites, without those that hold its own strings."""
    if not isinstance(line, EventLine):
        yield from line.tools
        return
    if line.outputs is not None:
        yield line.outputs.items
        yield from line.outputs.calls
        yield from filter(None, (line.outputs.text,))
    yield from _held(line.event)
    match line.event:
        case ev.ModelResponded(raw=str(digest)) | ev.ModelFailed(raw=str(digest)):
            yield digest
        case ev.ContextCompacted(raw=str(digest)) | ev.CompactionFailed(raw=str(digest)):
            yield digest
        case ev.ToolReturned(whole=whole, data=data, evidence=evidence):
            yield from filter(None, (whole, data))
            yield from _kept_by(evidence)
        case ev.ChecklistTicked(version=digest) | ev.RunFinished(deliverable=digest):
            yield digest


def _held(value: Any) -> Iterator[str]:
    """The blobs of all attachments and artifacts in a value, however deep they stand in it."""
    if isinstance(value, AttachedBlock):
        yield value.digest
    elif isinstance(value, ArtifactRef):
        yield value.payload
    elif isinstance(value, Value):
        for name in value.field_names():
            yield from _held(getattr(value, name))
    elif isinstance(value, tuple):
        for member in value:
            yield from _held(member)


def _kept_by(evidence: str | None) -> Iterator[str]:
    try:
        envelope = json.loads(evidence or "{}")
    except (ValueError, RecursionError):
        return  # evidence of someone's own executor may be any text
    if isinstance(envelope, dict):
        yield from kept_by(envelope)
