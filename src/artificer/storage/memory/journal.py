"""The journal in memory: the counterpart of the SQLite one, for tests and temporary runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from msgspec import structs

from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Claim,
    Head,
    Lease,
    Placed,
    Record,
    RunHead,
    Spending,
)
from artificer.ports.clock import wall_time
from artificer.storage.audit import StoredNote, StoredRecord, StoredRun, Tip, find_problems
from artificer.storage.chain import (
    FORMAT,
    check_name,
    claimed,
    fenced,
    genesis,
    next_world,
    pruned,
    released,
    run_seal,
    verify_link,
)
from artificer.storage.memory.budget import MemoryBudget
from artificer.storage.memory.signals import MemorySignals
from artificer.storage.memory.small import MemorySmall
from artificer.storage.memory.versions import MemoryVersions
from artificer.storage.notes import Note, RunImported
from artificer.storage.recomputed import Caches
from artificer.values.canon import digest_of


class MemoryJournal:
    """A `Journal` that dies with its process. For one event loop; nothing in it waits.

    Versions of workspaces are added from threads, so a lock guards the world's chain.
    """

    def __init__(self, now: Callable[[], int] = wall_time) -> None:
        self.small = MemorySmall()
        self.signals = MemorySignals(self._note, now)
        self.budget = MemoryBudget(self._note)
        self.versions = MemoryVersions(self._note)
        self._notes: list[StoredNote] = []
        self._imported: dict[str, Head] = {}
        self._lock = threading.Lock()
        self._runs: dict[str, StoredRun] = {}
        self._owners: dict[str, str] = {}
        self._records: list[StoredRecord] = []
        self._by_run: dict[str, list[Record]] = {}
        self._start = genesis(FORMAT, "memory")
        self._tip = Tip(0, self._start)

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Become the run's one writer: a new epoch, higher than any before.

        Raises:
            Fenced: the run does not end at the claim's head; nothing has changed.
        """
        check_name(run)
        known = self._runs.get(run) or StoredRun(len(self._runs) + 1, run, 0, 0, "", "")
        epoch, head = known.epoch + 1, Head(seq=known.seq, hash=known.hash)
        owners = claimed(run, claim, head, self._owners.get(run, ""))
        self._runs[run] = structs.replace(
            known, epoch=epoch, seal=run_seal(known.number, run, epoch)
        )
        self._owners[run] = owners
        return Lease(epoch=epoch, head=head)

    async def release(self, run: str, epoch: int) -> None:
        """Give the run up, unless someone else has acquired it since."""
        if run in self._runs and self._runs[run].epoch == epoch:
            self._owners[run] = released(self._owners[run], self._runs[run].seq)

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        """Append all records or none and return the new head. See `Journal.append`.

        Raises:
            Fenced: someone else acquired the run, or its head is not ``head``.
            BudgetError: a limit does not hold a reservation; nothing has changed.
            InvariantError: the records do not continue the chain from ``head``.
        """
        new_head = verify_link(run, head, records)
        known = self._runs.get(run)
        if known is None:
            raise fenced(run, epoch, head, None)
        if (known.epoch, known.seq, known.hash) != (epoch, head.seq, head.hash):
            raise fenced(run, epoch, head, _run_head(known))
        changes = self.budget.changes(spending)
        self._runs[run] = structs.replace(known, seq=new_head.seq, hash=new_head.hash)
        for record in records:
            with self._lock:
                tip = self._advance(record.hash)
                row = StoredRecord(
                    tip.position, run, record.seq, record.hash, record.body, tip.world
                )
                self._records.append(row)
        self._by_run.setdefault(run, []).extend(records)
        self.small.keep(blobs)
        self.budget.change(changes)
        return new_head

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the first ``limit`` records with ``seq > after``; empty for an unknown run."""
        check_name(run)
        start = max(0, after)
        found = self._by_run.get(run, [])[start : None if limit is None else start + limit]
        if found and not found[0].body:
            raise pruned(run)
        return found

    def records(self, run: str) -> list[Record]:
        """Return all records of a run."""
        found = list(self._by_run.get(run, ()))
        if found and not found[0].body:
            raise pruned(run)
        return found

    async def position(self) -> int:
        """How many records and notes the world has."""
        return self._tip.position

    async def placed(self, after: int, upto: int) -> list[Placed]:
        """Return the records at positions above ``after`` up to ``upto``, in order."""
        return [
            Placed(row.position, row.world, Record(row.run, row.seq, row.hash, row.body))
            for row in self._records
            if after < row.position <= upto
        ]

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        """Remove the contents of a run's first records and of its signals. Raises Fenced."""
        known = self._runs.get(run)
        if known is None or known.epoch != epoch:
            raise fenced(run, epoch, Head(), None if known is None else _run_head(known))
        self._records = [
            structs.replace(r, body=b"") if r.run == run and r.seq <= upto else r
            for r in self._records
        ]
        self._by_run[run] = [
            structs.replace(r, body=b"") if r.seq <= upto else r for r in self._by_run[run]
        ]
        self.signals.empty(run)

    async def forget(self, digests: Iterable[str], at: int) -> bool:
        """Remove blobs if the world is still at a position; return whether it is."""
        if self._tip.position == at:
            self.small.drop(digests)
        return self._tip.position == at

    async def unsigned(self, run: str) -> int:
        """The last record of a run that may name signals which are not here; 0 for none."""
        head = self._imported.get(run, Head())
        found = await self.hashes(run)
        return head.seq if head.hash in found[head.seq - 1 : head.seq] else 0

    async def note_import(self, run: str, head: Head, taken: int) -> None:
        """Write down that a run which took signals elsewhere is about to be added."""
        check_name(run)
        self._note(RunImported(run=run, n=taken, seq=head.seq, hash=head.hash))
        self.signals.follow(run, taken)
        self._imported[run] = head

    async def hashes(self, run: str) -> list[str]:
        """The hashes of a run's records, in order; also of those that were pruned."""
        return [record.hash for record in self._by_run.get(run, [])]

    async def tip(self) -> Tip:
        """Where the world's chain ends."""
        return self._tip

    async def world_at(self, position: int) -> str | None:
        """The world's hash at a position; None when it does not reach it."""
        worlds = {row.position: row.world for row in self._records}
        worlds.update((row.position, row.world) for row in self._notes)
        return worlds.get(position)

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        """Return runs, oldest first; of those older than ``before``, the newest ``limit``."""
        last = len(self._runs) if before is None else self._number_of(before) - 1
        first = 0 if limit is None else max(0, last - limit)
        return [_run_head(row) for row in islice(self._runs.values(), first, last)]

    def _number_of(self, run: str) -> int:
        return self._runs[run].number if run in self._runs else 1

    async def audit(self) -> list[str]:
        """Return what is wrong with what is stored, each as one sentence; empty when nothing is."""
        caches = Caches(self.signals.rows(), self.budget.rows(), self.versions.rows())
        runs, tip = self._runs.values(), self._tip
        return find_problems(self._start, runs, self._records, tip, self._notes, caches)

    def notes(self) -> list[StoredNote]:
        """Every note, in order."""
        return list(self._notes)

    def _note(self, note: Note) -> None:
        """Write a note into the world's chain."""
        body = note.canonical()
        hash_ = digest_of(body)
        with self._lock:
            tip = self._advance(hash_)
            self._notes.append(StoredNote(tip.position, note.subject, hash_, body, tip.world))

    def _advance(self, hash_: str) -> Tip:
        self._tip = Tip(self._tip.position + 1, next_world(self._tip.world, hash_))
        return self._tip


def _run_head(row: StoredRun) -> RunHead:
    return RunHead(row.run, row.epoch, Head(seq=row.seq, hash=row.hash))
