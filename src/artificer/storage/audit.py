"""Finding every changed byte of a journal (invariant 12).

What cannot be found: records cut from the end together with everything that counts them, and a
history that was recomputed whole. Both are consistent; only a hash kept elsewhere reveals that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice

from msgspec import Struct

from artificer.core.tombstone import tombstone
from artificer.ports import Head
from artificer.storage.chain import is_sealed, next_world, place_named
from artificer.storage.notes import ChainingBegan, parse_note
from artificer.storage.recomputed import Caches, Recomputed
from artificer.values.canon import digest_of

MAX_PROBLEMS = 100
"""How many problems an audit lists; it says when there are more."""


class StoredRun(Struct, frozen=True):
    """A row of the table of runs. ``number`` counts runs from 1 in the order of their birth."""

    number: int
    run: str
    epoch: int
    seq: int
    hash: str
    seal: str


class StoredRecord(Struct, frozen=True):
    """A row of the table of records. ``position`` counts all records of the world from 1."""

    position: int
    run: str
    seq: int
    hash: str
    body: bytes
    world: str


class StoredNote(Struct, frozen=True):
    """A row of the table of notes. ``position`` counts them together with all records."""

    position: int
    subject: str
    hash: str
    body: bytes
    world: str


class Tip(Struct, frozen=True, gc=False):
    """Where the world chain ends. Before the first record it is at position 0."""

    position: int
    world: str


def find_problems(
    start: str,
    runs: Iterable[StoredRun],
    records: Iterable[StoredRecord],
    tip: Tip,
    notes: Iterable[StoredNote] = (),
    caches: Caches | None = None,
    *,
    upgraded: bool = False,
) -> list[str]:
    """Return what is wrong, each as one sentence, at most MAX_PROBLEMS and a last line.

    ``start`` is the world hash before the first record; ``records`` and ``notes`` come in order of
    position. ``caches`` are the tables that follow from notes; a journal of a release without
    notes has none. ``upgraded`` says that such a release began the journal.
    """
    audit = _Audit(start, upgraded)
    return limited(audit.problems(runs, merge(records, notes, key=_position), tip, caches))


def limited(problems: Iterable[str]) -> list[str]:
    """Keep the first MAX_PROBLEMS, and say so when there are more."""
    found = list(islice(problems, MAX_PROBLEMS + 1))
    if len(found) > MAX_PROBLEMS:
        found[MAX_PROBLEMS:] = [f"There are more than these {MAX_PROBLEMS} problems."]
    return found


def _position(row: StoredRecord | StoredNote) -> int:
    return row.position


class _Audit:
    """One pass over all records and notes, in the order in which they were committed."""

    def __init__(self, start: str, upgraded: bool) -> None:
        self._last = Tip(0, start)
        self._upgraded = upgraded
        self._began = False
        self._ends: dict[str, Head] = {}
        self._erased: dict[str, int] = {}
        self._tombstones: dict[str, int] = {}
        self._recomputed = Recomputed()

    def problems(
        self,
        runs: Iterable[StoredRun],
        rows: Iterable[StoredRecord | StoredNote],
        tip: Tip,
        caches: Caches | None,
    ) -> Iterator[str]:
        for row in rows:
            name = _name(row)
            if row.position != self._last.position + 1:
                after = self._last.position
                yield f"{name} is at position {row.position} of the world, after {after}."
            if row.world != next_world(self._last.world, row.hash):
                yield f"{name} does not continue the world chain: something before it was changed."
            self._last = Tip(row.position, row.world)
            found = self._record(row) if isinstance(row, StoredRecord) else self._note(row)
            yield from (f"{name} {what}." for what in found)
        if self._last != tip:
            yield (
                f"The world chain ends at position {self._last.position}, but the journal says "
                f"that it ends at {tip.position}: records are missing, or one of the two was "
                "changed."
            )
        for run, upto in self._erased.items():
            if self._tombstones.get(run) != upto:
                yield f"Record {upto} of run {run} has lost its contents, and no tombstone says so."
        yield from _run_faults(runs, self._ends)
        if caches is not None:
            yield from self._recomputed.compare(caches, self._erased)
            if self._upgraded and not self._began:
                yield "The note is missing that says when the chaining of notes began."

    def _record(self, record: StoredRecord) -> Iterator[str]:
        before = self._ends.get(record.run, Head())
        if record.body == b"":
            self._erased[record.run] = record.seq
        elif record.run in self._erased:
            self._tombstones[record.run] = tombstone(record.body)
        self._ends[record.run] = Head(seq=record.seq, hash=record.hash)
        return _record_faults(record, before)

    def _note(self, row: StoredNote) -> Iterator[str]:
        note = parse_note(row.body)
        if row.hash != digest_of(row.body):
            yield "has a body that does not match its hash"
        elif note is None:
            yield "is not one that this release knows"
        elif note.subject != row.subject:
            yield f"is about {note.subject!r}, not {row.subject!r}"
        elif isinstance(note, ChainingBegan) and (self._began or not self._upgraded):
            yield "says that chaining began, which it had"
        if note is not None:
            self._began = True
            self._recomputed.take(note)


def _name(row: StoredRecord | StoredNote) -> str:
    if isinstance(row, StoredRecord):
        return f"Record {row.seq} of run {row.run}"
    return f"The note at position {row.position} of the world"


def _record_faults(record: StoredRecord, before: Head) -> Iterator[str]:
    if record.seq != before.seq + 1:
        yield f"follows record {before.seq}: there is a gap"
    if record.body == b"":
        return  # its hash is in the chains; a tombstone has to account for it
    if record.hash != digest_of(record.body):
        yield "has a body that does not match its hash"
    elif (named := place_named(record.body)) != (record.run, record.seq, before.hash):
        yield f"names run, seq and prev as {named} in its body, which is not where it stands"


def _run_faults(runs: Iterable[StoredRun], ends: dict[str, Head]) -> Iterator[str]:
    known = set()
    for number, row in enumerate(runs, start=1):
        known.add(row.run)
        end = ends.get(row.run, Head())
        if not is_sealed(row.number, row.run, row.epoch, row.seal):
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
