"""Runs that a list has read: their status, and where to continue reading."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from artificer.core.intents import Intent
from artificer.core.state import RunPhase, RunState
from artificer.core.tombstone import tombstone
from artificer.errors import OperatorError
from artificer.ports import Head, IndexedRun, Record, Storage
from artificer.runtime.listing.rows import RunBeginning, beginning, row_of
from artificer.runtime.load import UNREDUCED, Loaded, follow
from artificer.runtime.snapshot import restored

KEPT = 64
"""Unfinished runs whose states are kept, to continue from."""

_UNREAD = (*UNREDUCED, OperatorError)


class _Followed(Struct, frozen=True):
    """A run as far as it was read."""

    begun: RunBeginning
    state: RunState
    head: Head
    intents: dict[int, Intent]


class FollowedRuns:
    """Reduces the records of runs as they come, each of them once. One caller at a time."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._followed = OrderedDict[str, _Followed]()

    async def rows(self, records: Sequence[Record]) -> list[IndexedRun]:
        """Return the rows of all runs that these records are of, in the order of these."""
        groups: dict[str, list[Record]] = {}
        for record in records:
            groups.setdefault(record.run, []).append(record)
        rows = await asyncio.to_thread(
            lambda: {run: self._continued(run, group) for run, group in groups.items()}
        )
        return [rows[run] or await self._restored(_unread(groups[run][-1])) for run in groups]

    async def row(self, older: IndexedRun) -> IndexedRun:
        """Return the row of a run in its current state, replacing an older one."""
        run = older.run
        followed = self._followed.get(run)
        if followed is not None:
            records = await self._storage.journal.read(run, followed.head.seq)
            if row := await asyncio.to_thread(self._continued, run, records):
                return row
        return await self._restored(IndexedRun(run, older.seq, older.hash, "unreadable"))

    def _continued(self, run: str, records: Sequence[Record]) -> IndexedRun | None:
        """Continue from where a run was left, or from its beginning; None if neither works."""
        before, blobs = self._followed.get(run), self._storage.blobs
        try:
            if before is None:
                if not records or records[0].seq != 1:
                    return None
                before = _Followed(beginning(records[0], blobs), RunState(), Head(), {})
            head = before.head
            new = [record for record in records if record.seq > head.seq]
            loaded = follow(run, before.state, dict(before.intents), head, new, blobs)
        except _UNREAD:  # even where these records end within a commit
            self._followed.pop(run, None)
            return None
        return self._kept(before.begun, loaded)

    async def _restored(self, unread: IndexedRun) -> IndexedRun:
        """Return the row of a run in its current state, or ``unread`` where it cannot be read."""
        storage, run = self._storage, unread.run
        try:
            loaded = await restored(storage, run)
            (first,) = await storage.journal.read(run, 0, 1)
            return self._kept(beginning(first, storage.blobs), loaded)
        except _UNREAD:
            self._followed.pop(run, None)
            return unread

    def _kept(self, begun: RunBeginning, loaded: Loaded) -> IndexedRun:
        """Keep a run that is not finished; return its row."""
        run, state, head = loaded.run, loaded.state, loaded.head
        self._followed.pop(run, None)
        if loaded.tombstone:
            return IndexedRun(run, head.seq, head.hash, "pruned")
        if state.phase is not RunPhase.FINISHED:
            intents = {intent.n: intent for intent in loaded.open}
            self._followed[run] = _Followed(begun, state, head, intents)
            while len(self._followed) > KEPT:
                self._followed.popitem(last=False)
        return row_of(run, head, begun, state)


def _unread(last: Record) -> IndexedRun:
    """Return the row of a run that cannot be read, by its last record."""
    status = "pruned" if tombstone(last.body) else "unreadable"
    return IndexedRun(last.run, last.seq, last.hash, status)
