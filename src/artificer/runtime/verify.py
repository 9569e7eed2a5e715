"""Verifying a world: every record, every chain, every blob (invariant 12)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from artificer.core import events as ev
from artificer.core.record import EventLine
from artificer.errors import ArtificerError, NotFoundError
from artificer.ports import BlobStore, Head, Journal, Record, RunHead
from artificer.runtime.load import Line, read_chain

_DIGEST = re.compile("sha256:[0-9a-f]{64}")


@runtime_checkable
class Auditable(Protocol):
    """A journal that can check what only it knows: its own tables, and the world's chain."""

    async def audit(self) -> list[str]:
        """Return what is wrong, one sentence each."""


@dataclass
class Verification:
    """What was checked, and what is wrong. ``heads`` can be kept elsewhere as an anchor."""

    runs: int = 0
    records: int = 0
    blobs: int = 0
    heads: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


async def verify(journal: Journal, blobs: BlobStore) -> Verification:
    """Check everything, and go on after a problem to find the others."""
    result = Verification()
    if isinstance(journal, Auditable):
        result.problems += await journal.audit()
    heads: list[RunHead] = []
    try:
        heads = await journal.runs()
    except ArtificerError as error:
        result.problems.append(error.message)
    for head in heads:
        await _check_run(journal, blobs, head, result)
    await asyncio.to_thread(_check_blobs, blobs, result)
    result.problems = list(dict.fromkeys(result.problems))
    return result


async def _check_run(
    journal: Journal, blobs: BlobStore, head: RunHead, result: Verification
) -> None:
    result.runs += 1
    result.heads[head.run] = head.head.hash
    try:
        start, records = await _kept(journal, head)
        for line in read_chain(head.run, records, blobs, start):
            result.records += 1
            for digest in cited(line):
                if not blobs.has(digest):
                    result.problems.append(
                        f"Run {head.run}, record {line.seq} cites the blob {digest}, "
                        "which is missing."
                    )
        last = (records[-1].seq, records[-1].hash) if records else (0, "")
        if last != (head.head.seq, head.head.hash):
            result.problems.append(f"Run {head.run} does not end where the journal says.")
    except ArtificerError as error:
        result.problems.append(error.message)


async def _kept(journal: Journal, head: RunHead) -> tuple[Head, list[Record]]:
    """The records that say something, and where they begin: a pruned run has its tombstone."""
    last = head.head.seq
    tail = await journal.read(head.run, last - 1, 1) if last else []
    upto = tombstone(tail[0].body) if tail else 0
    if not upto:
        return Head(), await journal.read(head.run)
    try:
        return Head(), await journal.read(head.run)  # marked, and not yet removed
    except NotFoundError:
        return Head(seq=upto, hash=json.loads(tail[0].body)["prev"]), tail


def tombstone(body: bytes) -> int:
    """How many records a body is the tombstone of; 0 when it is none."""
    if b'"RunPruned"' not in body:
        return 0
    with suppress(ValueError, KeyError, TypeError):
        event = json.loads(body)["event"]
        return int(event["records"]) if event["type"] == "RunPruned" else 0
    return 0


def _check_blobs(blobs: BlobStore, result: Verification) -> None:
    for digest in blobs.digests():
        result.blobs += 1
        try:
            blobs.get(digest)
        except ArtificerError as error:
            result.problems.append(error.message)


def cited(line: Line) -> Iterator[str]:
    """The blobs that a record cites besides those that hold its own strings."""
    if not isinstance(line, EventLine):
        yield from line.tools
        return
    if line.outputs is not None:
        yield line.outputs.items
        yield from line.outputs.calls
        yield from filter(None, (line.outputs.text,))
    match line.event:
        case ev.ModelResponded(raw=str(digest)) | ev.ModelFailed(raw=str(digest)):
            yield digest
        case ev.ContextCompacted(raw=str(digest)) | ev.CompactionFailed(raw=str(digest)):
            yield digest
        case ev.ToolReturned(artifact=artifact, whole=whole, evidence=evidence):
            yield from (d for d in (artifact and artifact.payload, whole) if d)
            yield from _kept_by(evidence)
        case ev.RunFinished(deliverable=digest):
            yield digest


def _kept_by(evidence: str | None) -> Iterator[str]:
    """The blobs in which an envelope keeps what is too long for it."""
    try:
        envelope = json.loads(evidence or "{}")
    except (ValueError, RecursionError):
        return  # evidence of somebody's own executor may be any text
    if not isinstance(envelope, dict):
        return
    for name in ("blob", "blobs", "output_blobs"):
        named = envelope.get(name) or ()
        for digest in [named] if isinstance(named, str) else named:
            if isinstance(digest, str) and _DIGEST.fullmatch(digest):
                yield digest
