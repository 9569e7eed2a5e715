"""Finding every changed byte of a journal (invariant 12).

What cannot be found: records cut from the end together with everything that counts them, and a
history that was recomputed whole. Both are consistent; only a hash kept elsewhere tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from artificer.journal.chain import erased_by, next_world, place_named, run_seal
from artificer.ports import Head
from artificer.values.canon import digest_of

MAX_PROBLEMS = 100
"""How many problems an audit lists; it says when there are more."""


@dataclass(frozen=True)
class StoredRun:
    """A row of the table of runs. ``number`` counts runs from 1 in the order of their birth."""

    number: int
    run: str
    epoch: int
    seq: int
    hash: str
    seal: str


@dataclass(frozen=True)
class StoredRecord:
    """A row of the table of records. ``position`` counts all records of the world from 1."""

    position: int
    run: str
    seq: int
    hash: str
    body: bytes
    world: str


@dataclass(frozen=True)
class Tip:
    """Where the world chain ends. Before the first record it is at position 0."""

    position: int
    world: str


def find_problems(
    start: str, runs: Iterable[StoredRun], records: Iterable[StoredRecord], tip: Tip
) -> list[str]:
    """Return what is wrong, each as one sentence, at most MAX_PROBLEMS and a last line.

    ``start`` is the world hash before the first record, ``records`` come in order of position.
    """
    return limited(_problems(start, runs, records, tip))


def limited(problems: Iterable[str]) -> list[str]:
    """Keep the first MAX_PROBLEMS, and say so when there are more."""
    found = list(islice(problems, MAX_PROBLEMS + 1))
    if len(found) > MAX_PROBLEMS:
        found[MAX_PROBLEMS:] = [f"There are more than these {MAX_PROBLEMS} problems."]
    return found


def _problems(
    start: str, runs: Iterable[StoredRun], records: Iterable[StoredRecord], tip: Tip
) -> Iterator[str]:
    ends: dict[str, Head] = {}
    erased: dict[str, int] = {}
    tombstones: dict[str, int] = {}
    last = Tip(0, start)
    for record in records:
        name = f"Record {record.seq} of run {record.run}"
        if record.position != last.position + 1:
            yield f"{name} is at position {record.position} of the world, after {last.position}."
        if record.world != next_world(last.world, record.hash):
            yield f"{name} does not continue the world chain: something before it was changed."
        before = ends.get(record.run, Head())
        if record.body == b"":
            erased[record.run] = record.seq
        elif record.run in erased:
            tombstones[record.run] = erased_by(record.body)
        yield from (f"{name} {what}." for what in _record_faults(record, before))
        ends[record.run] = Head(seq=record.seq, hash=record.hash)
        last = Tip(record.position, record.world)
    if last != tip:
        yield (
            f"The world chain ends at position {last.position}, but the journal says that it ends "
            f"at {tip.position}: records are missing, or one of the two was changed."
        )
    for run, upto in erased.items():
        if tombstones.get(run) != upto:
            yield f"What record {upto} of run {run} said is gone, and no tombstone says so."
    yield from _run_faults(runs, ends)


def _record_faults(record: StoredRecord, before: Head) -> Iterator[str]:
    if record.seq != before.seq + 1:
        yield f"follows record {before.seq}: there is a gap"
    if record.body == b"":
        return  # its hash stands in the chains; a tombstone has to account for it
    if record.hash != digest_of(record.body):
        yield "has a body that does not match its hash"
    elif (named := place_named(record.body)) != (record.run, record.seq, before.hash):
        yield f"names run, seq and prev as {named} in its body, which is not where it stands"


def _run_faults(runs: Iterable[StoredRun], ends: dict[str, Head]) -> Iterator[str]:
    known = set()
    for number, row in enumerate(runs, start=1):
        known.add(row.run)
        end = ends.get(row.run, Head())
        if row.seal != run_seal(row.number, row.run, row.epoch):
            yield f"Run {row.run} has a seal that does not match its number and epoch {row.epoch}."
        if row.number != number:
            yield f"Run {row.run} is number {row.number}, but run number {number} is missing."
        if (row.seq, row.hash) != (end.seq, end.hash):
            yield (
                f"Run {row.run} has its head at seq {row.seq}, but its last record is seq "
                f"{end.seq}, or has another hash."
            )
    for run in ends.keys() - known:
        yield f"Run {run} has records up to seq {ends[run].seq}, but is not in the table of runs."
