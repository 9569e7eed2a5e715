"""The jobs of a world: submitting, leasing and ending them, with the journal as their fence."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import get_args

import msgspec

from artificer.core.signals import read_signal
from artificer.errors import (
    ArtificerError,
    ConflictError,
    Fenced,
    NotFoundError,
    OperatorError,
    OwnedError,
    RateLimitError,
    TamperedError,
)
from artificer.health.exposition import Metric
from artificer.ownership.job_leases import FILE
from artificer.ports import Claim
from artificer.runtime.listing.runs import exists
from artificer.runtime.load import first_spec
from artificer.studio.access import Actor
from artificer.studio.jobs.announced import AnnouncedLeases
from artificer.studio.jobs.exchange import Beat, JobEnding, LeasedJob
from artificer.studio.jobs.families import AWAITED_MS, JobFamilies
from artificer.studio.jobs.grants import RELEASED, LeaseGrants
from artificer.studio.jobs.idle import IdleJobs
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.lanes import JobLanes
from artificer.studio.jobs.leasing import JobParts, Leasing, Lessee
from artificer.studio.jobs.permits import JobPermits
from artificer.studio.jobs.queue import JobQueue, lost
from artificer.studio.jobs.reach import FAMILY, FamilyReach
from artificer.studio.jobs.rows import JobRow, JobState
from artificer.studio.jobs.sweeping import QueueDispatcher, Sweeping
from artificer.values.canon import digest_of
from artificer.wiring.limits import lane_limits, request_limits
from artificer.world import World, storage_of

log = logging.getLogger("artificer.studio")

POLL_S = 0.25
"""Seconds between two looks for signals."""

MAX_WAITS = 50
"""Limit on the requests of one sender that wait at a time."""


class Jobs:
    """The jobs of one world. ``reach`` says what their workers may touch."""

    def __init__(self, world: World, reach: FamilyReach = FAMILY) -> None:
        self.world = world
        self.storage = storage_of(world)
        self.reach = reach
        folder = world.config.project_folder if self.storage.locks is not None else None
        self._file = JobFile(folder / FILE if folder else None)
        self.queue = JobQueue(self._file, world.clock.now)
        self.grants = LeaseGrants(self._file)
        self.idle = IdleJobs(self._file, world.clock.now)
        self.families = JobFamilies(world.storage, self.queue, self.idle)
        limits = lane_limits(world.config.worker)
        self.lanes = JobLanes(limits, self.storage.shared_permits)
        self.permits = JobPermits(request_limits(world.config), self.storage.shared_permits)
        self.announced = AnnouncedLeases(self.storage)
        self.changed = asyncio.Event()
        """Set when a job may have become due."""
        parts = (self.idle, self.grants, self.families, self.lanes, self.announced, self.changed)
        self.leasing = Leasing(JobParts(self.storage, self.queue, *parts))
        dispatcher = QueueDispatcher(world, self.queue, self.idle, self.changed.set)
        self.sweeping = Sweeping(world, dispatcher)
        self._waits: Counter[str] = Counter()

    def metrics(self) -> list[Metric]:
        """Return how many jobs there are of each state; nothing if the queue cannot be read."""
        try:
            counts = self.queue.counts()
        except OperatorError as error:
            log.warning("jobs cannot be counted: %s", error.message)
            return []
        values = {state: counts.get(state, 0) for state in get_args(JobState)}
        return [Metric("artificer_jobs", "gauge", "Jobs of HTTP workers.", values, "state")]

    async def aclose(self) -> None:
        """Stop looking for jobs, and close the file."""
        await self.sweeping.aclose()
        self.announced.close()
        self._file.close()

    async def submit(self, run: str, priority: int, attempts: int) -> JobRow:
        """Have a worker execute a run. Raises NotFoundError for one that was never begun."""
        if not await exists(self.storage.journal, run):
            raise NotFoundError(f"Run {run!r} does not exist.", hint="Start it first.")
        spec = await first_spec(self.storage.journal, self.storage.blobs, run)
        submission = spec.submission if spec is not None else None
        tenant, lane = (submission.tenant, submission.lane) if submission is not None else ("", "")
        row = self.queue.submit(run, priority, attempts, tenant, lane)
        self.changed.set()
        return row

    def wake(self, run: str) -> bool:
        """Have a job executed again; return whether a worker will do so."""
        found = self.idle.wake(run)
        self.changed.set()
        return found

    @contextmanager
    def waiting(self, sender: str) -> Iterator[None]:
        """Count a request that waits. Raises RateLimitError."""
        if self._waits[sender] >= MAX_WAITS:
            raise RateLimitError(f"{MAX_WAITS} requests wait already.", seconds=5)
        self._waits[sender] += 1
        try:
            yield
        finally:
            self._waits[sender] -= 1
            if not self._waits[sender]:
                del self._waits[sender]

    async def lease(
        self,
        actor: Actor,
        request: str,
        seconds: int,
        wait: float,
        gone: Callable[[], Awaitable[bool]],
    ) -> LeasedJob | None:
        """Lease the next job, and wait for one; None when none comes, or nobody waits any more."""
        self.sweeping.begin()
        return await self.leasing.lease(Lessee(actor, request, seconds), wait, gone)

    def held(self, actor: Actor, run: str, attempt: int, fence: int) -> JobRow:
        """Return a job that a sender has leased. Raises NotFoundError, Fenced."""
        row = self.queue.held(run, attempt, fence)
        if row.holder != actor.sender:
            raise lost(row, attempt)
        return row

    def ended(self, actor: Actor, run: str, attempt: int, fence: int) -> JobRow:
        """Return a job whose last lease is, or was, this one. Raises NotFoundError, Fenced."""
        row = self.queue.get(run)
        if (row.holder, row.attempt, row.fence) != (actor.sender, attempt, fence):
            raise lost(row, attempt)
        return row

    async def heartbeat(self, row: JobRow, after: int) -> Beat:
        """Renew a lease. Raises Fenced if it is lost, or the run was taken over."""
        await self._check_owner(row)
        signals = await self.storage.signals.read(row.run, after)
        found = [read_signal(body) for _, body in signals]
        last = signals[-1][0] if signals else after
        is_cancelled = any(signal is not None and signal.type == "cancel" for signal in found)
        expires = self.queue.renew(row)
        await self.announced.renew(row)
        await self.lanes.renew(row)
        return Beat(expires, last, is_cancelled)

    async def end(
        self, actor: Actor, run: str, attempt: int, fence: int, ending: JobEnding
    ) -> JobRow:
        """End an attempt: well, or with an error. The same ending again changes nothing.

        Raises NotFoundError; Fenced for another attempt, or another ending; ConflictError for a
        run that is not over.
        """
        digest = digest_of(msgspec.json.encode((actor.sender, attempt, fence, ending)))
        row = self.queue.get(run)
        if row.attempt == attempt and row.fence == fence and row.ended == digest:
            return row
        row = self.held(actor, run, attempt, fence)
        state, due_ms, awaits = await self._following(row, ending)
        await self.give_up(row)
        try:
            row = self.queue.end(
                row, state, digest, due_ms=due_ms, failed=ending.error, awaits=awaits
            )
        except Fenced:
            found = self.queue.get(run)
            if (found.attempt, found.ended) != (attempt, digest):
                raise
            return found  # the same ending came again before the answer
        with suppress(ArtificerError):  # they find out by themselves too
            await self.families.tell(row, ending, self.reach)
        if row.woken and row.state in ("parked", "done") and await self._has_late(run):
            self.idle.wake(run)
        self.changed.set()
        return row

    async def release(self, row: JobRow) -> JobRow:
        """Return a lease cleanly: the job is queued, and its calls are known to have ended."""
        await self.give_up(row)
        row = self.queue.end(row, "queued", "")
        self.changed.set()
        return row

    async def give_up(self, row: JobRow) -> None:
        """Release the runs of a lease in the journal."""
        for run, attempt, epoch in self.grants.grants(row.run):
            if attempt == row.attempt and epoch != RELEASED:
                await self.storage.journal.release(run, epoch)
        await self.leasing.forget(row)

    async def _following(self, row: JobRow, ending: JobEnding) -> tuple[str, int, bool]:
        """Return a job's next state, in how many milliseconds it is due, and if it awaits runs."""
        if ending.error is not None:
            return "queued", 0, False
        try:
            state = (await self.world.get(row.run)).state
        except (NotFoundError, TamperedError) as error:
            self.queue.end(row, "dead", "", failed=error.message)
            raise
        if await self.storage.signals.read(row.run, state.letters):
            return "queued", 0, False  # there is a signal that the worker has not seen
        if ending.outcome == "done":
            if state.status is None:
                raise ConflictError(f"Run {row.run} is not over.", hint="Resume it, or park it.")
            return "done", 0, False
        if ending.outcome == "children" and state.waits:
            return "parked", AWAITED_MS, self.families.parks(row, state)
        return "parked", max(1, int(ending.seconds * 1000)) if ending.seconds else 0, False

    async def _has_late(self, run: str) -> bool:
        """Whether a run that was woken during its lease has signals that its worker left."""
        try:
            return await self.world.archive.has_signals(run)
        except (NotFoundError, TamperedError):  # nobody can take them
            return False
        except OperatorError:  # a worker looks
            return True

    async def _check_owner(self, row: JobRow) -> None:
        """Check that nothing else has taken the run. Raises Fenced."""
        former: list[str | None] = []

        def look(owner: str | None) -> str:
            former.append(owner)
            raise OwnedError("This only looks.")

        with suppress(OwnedError):
            await self.storage.journal.acquire(row.run, Claim("", None, look))
        named = (former[-1] or "?").split(" ")[0] if former[-1] != "" else ""
        is_released = self.grants.epoch(row, row.run) == RELEASED
        if named != ("" if is_released else row.owner):
            raise Fenced(f"Run {row.run} was taken over.", hint="Stop working on it.")

    async def since(
        self, actor: Actor, position: int | None, wait: float
    ) -> tuple[int, Sequence[str]]:
        """Return the runs of a sender's leases that got signals since a position.

        A sender without a lease learns nothing of the world, not even its position.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while True:
            jobs = [row.run for row in self.queue.leased_by(actor.sender)]
            now, runs = position or 0, frozenset[str]()
            if jobs:
                now, runs = await self.storage.signals.since(position)
            found = sorted(r for r in runs if any(self.reach.has_run(job, r) for job in jobs))
            left = deadline - loop.time()
            if found or position is None or left <= 0:
                return now, found
            await asyncio.sleep(min(left, POLL_S))
