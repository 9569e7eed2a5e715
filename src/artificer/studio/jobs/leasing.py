"""Leasing jobs: the next one is found, has room in its lane, and its run is acquired."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec import Struct

from artificer.errors import ArtificerError, Fenced, OwnedError
from artificer.ports import Claim, Head, Lease
from artificer.runtime.load import UNREADABLE
from artificer.studio.access import Actor
from artificer.studio.jobs.announced import AnnouncedLeases
from artificer.studio.jobs.exchange import LeasedJob
from artificer.studio.jobs.families import AWAITED_MS, JobFamilies
from artificer.studio.jobs.grants import LeaseGrants
from artificer.studio.jobs.idle import IdleJobs
from artificer.studio.jobs.lanes import JobLanes
from artificer.studio.jobs.owner import AdmittedRun, LeaseOwner
from artificer.studio.jobs.queue import JobQueue, new_owner
from artificer.studio.jobs.rows import JobRow
from artificer.wiring.storage import OpenStorage

POLL_S = 0.5
"""Seconds between two looks for what has become due."""

DEFER_MS = 5_000
"""How long a job waits whose run something else executes."""

LOOKS = 1_000
"""Jobs that are looked at before a request waits: for room in a lane, or for the runs they await.
"""


class Lessee(Struct, frozen=True):
    """A worker that wants a job for ``seconds``. ``request`` names its request."""

    actor: Actor
    request: str
    seconds: int


class JobParts(Struct, frozen=True):
    """The parts of the jobs of a world. ``changed`` is set when a job may have become due."""

    storage: OpenStorage
    queue: JobQueue
    idle: IdleJobs
    grants: LeaseGrants
    families: JobFamilies
    lanes: JobLanes
    announced: AnnouncedLeases
    changed: asyncio.Event


class Leasing:
    """Leases jobs to workers."""

    def __init__(self, jobs: JobParts) -> None:
        self._jobs = jobs

    async def lease(
        self, lessee: Lessee, wait: float, gone: Callable[[], Awaitable[bool]]
    ) -> LeasedJob | None:
        """Lease the next job, and wait for one; None when none comes, or nobody waits any more."""
        loop, changed = asyncio.get_running_loop(), self._jobs.changed
        deadline = loop.time() + wait
        while True:
            changed.clear()
            row = await self._next(lessee)
            if row is not None:
                found = await self._begin(row)
                if found is not None:
                    return found
                continue
            left = deadline - loop.time()
            if left <= 0:
                return None
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), min(left, POLL_S))
            if await gone():
                return None

    async def _next(self, lessee: Lessee) -> JobRow | None:
        """Lease the job whose turn it is, and that can continue. Raises OperatorError."""
        queue, lanes = self._jobs.queue, self._jobs.lanes
        holder, worker = lessee.actor.sender, lessee.actor.name
        if (again := queue.leased_for(holder, lessee.request)) is not None:
            return again
        for _ in range(LOOKS):
            if (wanted := queue.next(lanes.closed)) is None:
                break
            if await self._jobs.families.waits_on(wanted):
                self._jobs.idle.put_off(wanted, AWAITED_MS)
                continue
            owner = new_owner()
            if not await lanes.take(wanted, owner, lessee.seconds):
                continue
            row = queue.lease(holder, worker, lessee.request, lessee.seconds, wanted, owner)
            if row is None or row.owner != owner:  # another one was faster
                await lanes.give_back(wanted, owner)
            if row is not None:
                return row
        return None

    async def _begin(self, row: JobRow) -> LeasedJob | None:
        """Take the run for a lease; None if something else executes it, or it is damaged.

        Raises OperatorError if the storage cannot be reached: the job is tried again.
        """
        with suppress(Fenced):  # the lease has ended meanwhile, and may be another worker's
            try:
                return await self._taken(row)
            except OwnedError:
                self._jobs.queue.end(row, "queued", "", due_ms=DEFER_MS)
                await self.forget(row)
            except UNREADABLE as error:
                self._jobs.queue.end(row, "queued", "", failed=error.message)
                await self.forget(row)
            except ArtificerError as error:
                with suppress(Fenced):
                    self._jobs.queue.end(row, "queued", "", due_ms=DEFER_MS)
                with suppress(ArtificerError):
                    await self.forget(row)
                raise error
        return None

    async def _taken(self, row: JobRow) -> LeasedJob:
        await self._jobs.announced.renew(row)
        lease, former = await self.acquire(row, row.run, None)
        try:
            self._jobs.queue.begin(row, lease.epoch)
        except Fenced:  # nobody was given this epoch
            await self._jobs.storage.journal.release(row.run, lease.epoch)
            raise
        return LeasedJob(
            row.run, row.attempt, lease.epoch, row.expires, row.seconds, lease.head, former
        )

    async def acquire(self, row: JobRow, run: str, head: Head | None) -> tuple[Lease, str]:
        """Acquire a run for a lease; return that with the former owners that may still act.

        Raises OwnedError, Fenced.
        """
        owner = LeaseOwner(row.owner, self._jobs.queue.is_alive, self._jobs.storage.owner)
        hold = AdmittedRun(owner, run, take_over=False)
        lease = await self._jobs.storage.journal.acquire(run, Claim(row.owner, head, hold.admit))
        self._jobs.grants.grant(row, run, lease.epoch)
        return lease, hold.doubtful

    async def forget(self, row: JobRow) -> None:
        """Forget what others know of a lease: its owner, and its room in a lane.

        Raises OperatorError.
        """
        await self._jobs.announced.end(row)
        await self._jobs.lanes.give_back(row)
