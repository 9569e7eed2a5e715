"""The runs of a world as a list: filtered, page by page, by an index that is not trusted.

The index follows the journal: a list brings it up to date, from the position up to which it was
filled before, so that no run waits for it. A row is shown only where the journal still ends in the
record that the row names; what the first and the last record of a run say is read from them. Where
there is no index, or none that can be used, the journal is read, newest run first.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, TypedDict, Unpack

from msgspec import Struct, structs

from artificer.errors import ArtificerError, NotFoundError, OperatorError, TamperedError
from artificer.ports import (
    HasRunIndex,
    IndexedRun,
    Ordered,
    Reached,
    Record,
    RunIndex,
    RunQuery,
    Storage,
)
from artificer.runtime.listing.followed import FollowedRuns
from artificer.runtime.listing.queued import waits_for_worker
from artificer.runtime.listing.rows import ENDED, STANDING, beginning, ending, facts_of
from artificer.runtime.listing.runs import newest
from artificer.runtime.listing.summary import RunSummary
from artificer.runtime.progress import ReportProgress, unreported
from artificer.system.tasks import finished
from artificer.values.arguments import LARGEST, optional, plain, whole
from artificer.values.text import well_formed
from artificer.values.words import terms_of

log = logging.getLogger("artificer.run")

PAGE = 1_000
"""Positions of the world that are read, and indexed in one transaction, at once."""

NEAR = 4_000
"""Positions that a list indexes while someone waits for it."""

SCANNED = 500
"""Runs that a list without an index looks at while someone waits for it."""


class ListedRun(RunSummary, frozen=True):
    """A run as a list shows it, with what it has done and waits for.

    ``questions`` are the decisions of a person that it waits for, itself; with ``waiting`` it waits
    for one, or for a run that does. ``parent`` is the run that started it, ``agent`` the name by
    which that one called its agent. ``turns`` and ``tokens`` are null where only an index knows
    them, and there is none.
    """

    agent: str = ""
    parent: str = ""
    waiting: bool = False
    questions: int = 0
    turns: int | None = None
    tokens: int | None = None
    cost_micros: int | None = None


class RunFilter(TypedDict, total=False):
    """The runs that a list wants; without anything, all.

    ``text`` are words of the prompt, as in a search; ``model`` and ``agent`` parts of the names.
    The ``status`` "queued" is that of open runs which no worker has started. ``waiting`` are those
    that wait for a person. They have started at ``since`` or later, and before ``until``:
    milliseconds since 1970-01-01 UTC. Without ``builds``, no run that another one started whose
    name begins its own.
    """

    text: str
    status: str | None
    kind: str | None
    model: str
    agent: str
    parent: str
    waiting: bool
    since: int
    until: int | None
    builds: bool
    oldest_first: bool


def run_query(**wanted: Unpack[RunFilter]) -> RunQuery:
    """Return the query for the runs that someone wants."""
    members: dict[str, Any] = {name: _checked(name, value) for name, value in wanted.items()}
    if members.get("status") == "queued":  # no status of a state: an open run, seen by workers
        members.update(status=None, queued=True)
    return RunQuery(terms_of(members.pop("text", "")), **members)


def _checked(name: str, value: object) -> object:
    """Return what every storage can compare: numbers in bounds, texts of whole characters."""
    if value is None and name in ("status", "kind", "until"):
        return None
    if name in ("since", "until"):
        return whole(name, value, lowest=-LARGEST)
    if name in ("waiting", "builds", "oldest_first"):
        return bool(value)
    return plain(name, well_formed(value) if isinstance(value, str) else value)


class RunListing(Struct, frozen=True):
    """A page of runs. ``next`` is the last one of it; None on the last page.

    ``searched`` is how many runs were looked at where these were not all: their index is made now.
    """

    runs: tuple[ListedRun, ...]
    next: str | None = None
    searched: int | None = None


class RunLister:
    """Lists the runs of one world, for any number of readers in one event loop."""

    def __init__(self, storage: Storage, scanned: int = SCANNED) -> None:
        self._limit = scanned
        self._journal = storage.journal
        self._blobs = storage.blobs
        held: object = storage
        self._index = held.run_index if isinstance(held, HasRunIndex) else None
        self._followed = FollowedRuns(storage)
        self._lock = asyncio.Lock()

    async def page(
        self,
        query: RunQuery,
        limit: int,
        before: str | None = None,
        *,
        at_once: bool = False,
        progress: ReportProgress = unreported,
    ) -> RunListing:
        """Return the first ``limit`` runs, or those that come after the run ``before``.

        With ``at_once`` it does not wait for an index that is far behind: then the newest runs are
        looked at.
        """
        limit, before = whole("limit", limit, lowest=1), optional("before", before)
        problem = ""
        for _ in range(2):  # a damaged index is removed when it is used, and made again
            try:
                if not await self.update(NEAR if at_once else None, progress):
                    return await self._from_index(query, limit, before)
                break
            except (OperatorError, TamperedError) as error:
                if error.message != problem:
                    log.warning("the index of runs is not used: %s", error.message)
                problem = error.message
        return await self._scanned(query, limit, before, self._limit if at_once else None)

    async def counts(self) -> dict[str, int]:
        """Return how many runs stand in which way; nothing if no index says so, or not yet."""
        try:
            if self._index is None or await self.update(NEAR):
                return {}
            return dict(await asyncio.to_thread(self._index.counts))
        except (OperatorError, TamperedError) as error:
            log.warning("the index of runs is not used: %s", error.message)
            return {}

    async def update(
        self, patience: int | None = None, progress: ReportProgress = unreported
    ) -> int:
        """Bring the index up to date; return how many positions it is behind all the same.

        With ``patience`` nothing is done where it is behind by more positions than that.

        Raises:
            TamperedError: a record is not what was written.
            OperatorError: the index cannot be used.
        """
        journal, index = self._journal, self._index
        if index is None or not isinstance(journal, Ordered):
            return 1
        end = await journal.position()
        async with self._lock:
            at = reached = await self._begin(journal, index)
        if patience is not None and end - at > patience:
            return end - at
        while at < end:
            async with self._lock:
                found = await asyncio.to_thread(index.reached)
                if found.position < reached:  # it was cleared meanwhile
                    break
                at = max(at, found.position)
                upto = min(at + PAGE, end)
                reached = await finished(self._index_page(journal, index, found, at, upto))
            if reached < 0:
                break
            at = max(upto, reached)
            progress("indexing runs", min(at, end), end)
        return max(0, end - at)

    async def _begin(self, journal: Ordered, index: RunIndex) -> int:
        """Return how far an index has come that is of this history; any other one is cleared."""
        reached = await asyncio.to_thread(index.reached)
        if reached.position and await journal.world_at(reached.position) != reached.world:
            await asyncio.to_thread(index.clear)
            if (await asyncio.to_thread(index.reached)).position:
                raise OperatorError(
                    "It belongs to another history, and this process may not clear it."
                )
            return 0
        return reached.position

    async def _index_page(
        self, journal: Ordered, index: RunIndex, reached: Reached, after: int, upto: int
    ) -> int:
        """Index the records between two positions; return how far the index is then, or -1 where
        nothing can be added to it."""
        page = await journal.placed(after, upto)
        if not page:
            return reached.position
        rows = await self._followed.rows([placed.record for placed in page])
        last = Reached(page[-1].position, page[-1].world)
        if await asyncio.to_thread(index.add, reached.position, rows, last):
            return last.position
        now = (await asyncio.to_thread(index.reached)).position
        return now if now > reached.position else -1  # another process was faster; or it is read

    async def _from_index(self, query: RunQuery, limit: int, before: str | None) -> RunListing:
        index = self._index
        assert index is not None
        found: list[IndexedRun] = []
        while len(found) <= limit:  # one more says whether there is another page
            wanted = limit + 1 - len(found)
            rows = await asyncio.to_thread(index.find, query, before, wanted)
            for row in rows:
                shown = await self._shown(row)
                if shown is not None and _wanted(query, shown):
                    found.append(shown)
            if len(rows) < wanted:
                break
            before = rows[-1].run
        return _cut(found, limit)

    async def _scanned(
        self, query: RunQuery, limit: int, before: str | None, runs: int | None
    ) -> RunListing:
        """Look at the runs of the journal: all of them, or the newest ones."""
        found: list[IndexedRun] = []
        looked, searched = 0, None
        after = None if query.oldest_first else before
        async for head in newest(self._journal, builds=query.builds, before=after):
            if query.oldest_first and head.run == before:
                break
            if looked == runs:
                searched = looked
                break
            looked += 1
            row = await self._shown(IndexedRun(head.run, head.head.seq, head.head.hash, ""))
            if row is not None and _wanted(query, row):
                found.append(row)
            if len(found) > limit and not query.oldest_first:
                break
        if query.oldest_first:
            found.reverse()
        return structs.replace(_cut(found, limit), searched=searched)

    async def _shown(self, row: IndexedRun) -> IndexedRun | None:
        """Return a row as the journal says it; None for a run that is not there."""
        try:
            records = await self._journal.read(row.run, max(0, row.seq - 1), 2)
            is_last = len(records) == 1 and records[0].hash == row.hash
            checked = await self._checked(row, records[0]) if is_last else None
            if checked is None:
                if not await self._journal.read(row.run, 0, 1):
                    return None
                async with self._lock:
                    checked = await self._followed.row(row)
        except NotFoundError:
            return IndexedRun(row.run, row.seq, row.hash, "pruned")
        except (ArtificerError, ValueError):
            return IndexedRun(row.run, row.seq, row.hash, "unreadable")
        return checked

    async def _checked(self, row: IndexedRun, last: Record) -> IndexedRun | None:
        """Return a row with what its first and its last record say; None if it contradicts."""
        status = ending(last, self._blobs)
        if status == "pruned":
            return IndexedRun(row.run, row.seq, row.hash, status)
        if row.status in (ENDED if status is None else STANDING):
            return None
        if status is not None:
            row = structs.replace(row, status=status, waiting=False, questions=0)
        elif row.status not in STANDING:
            return None
        (first,) = await self._journal.read(row.run, 0, 1)
        begun = beginning(first, self._blobs)
        queued = await waits_for_worker(self._journal, row.run, begun.spec, row.status, row.seq)
        return structs.replace(row, queued=queued, **facts_of(row.run, begun))


def _wanted(query: RunQuery, row: IndexedRun) -> bool:
    return query.wants(row) and (row.queued or not query.queued)


def _cut(found: list[IndexedRun], limit: int) -> RunListing:
    """Return a page of the runs that were found: there is one more where there is another page."""
    runs = tuple(_listed(row) for row in found[:limit])
    return RunListing(runs, runs[-1].run if len(found) > limit else None)


def _listed(row: IndexedRun) -> ListedRun:
    return ListedRun(
        row.run,
        row.seq,
        row.status,
        row.begun,
        row.kind,
        row.model,
        row.prompt,
        row.queued,
        changed=row.changed,
        agent=row.agent,
        parent=row.parent,
        waiting=row.waiting,
        questions=row.questions,
        turns=row.turns,
        tokens=row.tokens,
        cost_micros=row.cost_micros,
    )
