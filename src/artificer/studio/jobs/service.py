"""The jobs of a world: submitting, leasing and ending them, with the journal as their fence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from artificer.core.signals import read_signal
from artificer.errors import (
    ArtificerError,
    ConflictError,
    Fenced,
    NotFoundError,
    OwnedError,
    RateLimitError,
    TamperedError,
)
from artificer.ownership.job_leases import FILE
from artificer.ports import Claim, Head, Lease
from artificer.ports.run_index import above
from artificer.runtime.listing import exists
from artificer.runtime.load import UNREADABLE
from artificer.studio.access import Actor
from artificer.studio.jobs.announced import AnnouncedLeases
from artificer.studio.jobs.grants import RELEASED, LeaseGrants
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.owner import AdmittedRun, LeaseOwner
from artificer.studio.jobs.queue import JobQueue, lost
from artificer.studio.jobs.reach import FAMILY, FamilyReach
from artificer.studio.jobs.rows import JobRow
from artificer.studio.jobs.said import Beat, JobEnding, LeasedJob
from artificer.studio.jobs.sweeping import Sweeping
from artificer.values.canon import digest_of
from artificer.world import World, storage_of

POLL_S = 0.5
"""Seconds between two looks for what has become due."""

DEFER_MS = 5_000
"""How long a job waits whose run something else executes."""

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
        self._announced = AnnouncedLeases(self.storage)
        self._changed = asyncio.Event()
        self.sweeping = Sweeping(world, self.queue, self._changed.set)
        self._waits: Counter[str] = Counter()

    async def aclose(self) -> None:
        """Stop looking for jobs, and close the file."""
        await self.sweeping.aclose()
        self._announced.close()
        self._file.close()

    async def submit(self, run: str, priority: int, attempts: int) -> JobRow:
        """Have a run driven by a worker. Raises NotFoundError for one that was never begun."""
        if not await exists(self.storage.journal, run):
            raise NotFoundError(f"Run {run!r} does not exist.", hint="Begin it first.")
        row = self.queue.submit(run, priority, attempts)
        self._changed.set()
        return row

    def wake(self, run: str) -> bool:
        """Have a job driven again; return whether a worker will do so."""
        found = self.queue.wake(run)
        self._changed.set()
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
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while True:
            self._changed.clear()
            row = self.queue.lease(actor.sender, actor.name, request, seconds)
            if row is not None:
                found = await self._begin(row)
                if found is not None:
                    return found
                continue
            left = deadline - loop.time()
            if left <= 0:
                return None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(left, POLL_S))
            if await gone():
                return None

    async def _begin(self, row: JobRow) -> LeasedJob | None:
        """Take the run for a lease; None where something else executes it, or it is damaged.

        Raises OperatorError where the storage cannot be reached: the job is tried again.
        """
        with suppress(Fenced):  # the lease has ended meanwhile, and may be another worker's
            try:
                return await self._taken(row)
            except OwnedError:
                self.queue.end(row, "queued", "", due_ms=DEFER_MS)
                await self._announced.end(row)
            except UNREADABLE as error:
                self.queue.end(row, "queued", "", failed=error.message)
            except ArtificerError as error:
                with suppress(Fenced):
                    self.queue.end(row, "queued", "", due_ms=DEFER_MS)
                raise error
        return None

    async def _taken(self, row: JobRow) -> LeasedJob:
        await self._announced.renew(row)
        lease, former = await self.acquire(row, row.run, None)
        try:
            self.queue.begin(row, lease.epoch)
        except Fenced:  # nobody was given this epoch
            await self.storage.journal.release(row.run, lease.epoch)
            raise
        return LeasedJob(
            row.run, row.attempt, lease.epoch, row.expires, row.seconds, lease.head, former
        )

    async def acquire(self, row: JobRow, run: str, head: Head | None) -> tuple[Lease, str]:
        """Acquire a run for a lease; return that with the former owners that may still act.

        Raises OwnedError, Fenced.
        """
        owner = LeaseOwner(row.owner, self.queue.is_alive, self.storage.owner)
        hold = AdmittedRun(owner, run, take_over=False)
        lease = await self.storage.journal.acquire(run, Claim(row.owner, head, hold.admit))
        self.grants.grant(row, run, lease.epoch)
        return lease, hold.doubtful

    def held(self, actor: Actor, run: str, attempt: int, fence: int) -> JobRow:
        """Return a job that a sender has leased. Raises NotFoundError, Fenced."""
        row = self.queue.held(run, attempt, fence)
        if row.holder != actor.sender:
            raise lost(row, attempt)
        return row

    async def heartbeat(self, row: JobRow, after: int) -> Beat:
        """Renew a lease. Raises Fenced where it is lost, or the run was taken over."""
        await self._check_owner(row)
        signals = await self.storage.signals.read(row.run, after)
        found = [read_signal(body) for _, body in signals]
        last = signals[-1][0] if signals else after
        is_cancelled = any(signal is not None and signal.type == "cancel" for signal in found)
        expires = self.queue.renew(row)
        await self._announced.renew(row)
        return Beat(expires, last, is_cancelled)

    async def end(
        self, actor: Actor, run: str, attempt: int, fence: int, ending: JobEnding
    ) -> JobRow:
        """End an attempt: well, or with an error. The same ending again changes nothing.

        Raises NotFoundError; Fenced for another attempt, or another ending; ConflictError for a
        run that is not over.
        """
        said = digest_of(msgspec.json.encode((actor.sender, attempt, fence, ending)))
        row = self.queue.get(run)
        if row.attempt == attempt and row.fence == fence and row.ended == said:
            return row
        row = self.held(actor, run, attempt, fence)
        state, due_ms = await self._following(row, ending)
        await self.give_up(row)
        try:
            row = self.queue.end(row, state, said, due_ms=due_ms, failed=ending.error)
        except Fenced:
            found = self.queue.get(run)
            if (found.attempt, found.ended) != (attempt, said):
                raise
            return found  # it was said again before it was answered
        self._changed.set()
        await self._tell_family(row, ending)
        return row

    async def release(self, row: JobRow) -> JobRow:
        """Give a lease back unharmed: the job is queued, and its calls are known to have ended."""
        await self.give_up(row)
        row = self.queue.end(row, "queued", "")
        self._changed.set()
        return row

    async def give_up(self, row: JobRow) -> None:
        """Release the runs of a lease in the journal."""
        for run, attempt, epoch in self.grants.grants(row.run):
            if attempt == row.attempt and epoch != RELEASED:
                await self.storage.journal.release(run, epoch)
        await self._announced.end(row)

    async def _following(self, row: JobRow, ending: JobEnding) -> tuple[str, int]:
        """Return a job's next state, and in how many milliseconds it is due."""
        if ending.error is not None:
            return "queued", 0
        try:
            state = (await self.world.get(row.run)).state
        except (NotFoundError, TamperedError) as error:
            self.queue.end(row, "dead", "", failed=error.message)
            raise
        if await self.storage.signals.read(row.run, state.letters):
            return "queued", 0  # somebody said something that the worker has not seen
        if ending.outcome == "done":
            if state.status is None:
                raise ConflictError(f"Run {row.run} is not over.", hint="Resume it, or park it.")
            return "done", 0
        return "parked", max(1, int((ending.seconds or 0) * 1000)) if ending.seconds else 0

    async def _tell_family(self, row: JobRow, ending: JobEnding) -> None:
        """Queue the runs that a job waits for, and the job that waits for this one."""
        if ending.outcome == "children" and ending.error is None:
            runs = [run for run in ending.runs if self.reach.has_run(row.run, run)]
            for run in runs:
                with suppress(NotFoundError):
                    await self.submit(run, row.priority, row.attempts)
            if runs and all(self._is_over(run) for run in runs):
                self.queue.wake(row.run)
        elif row.state == "done" and (parent := above(row.run)):
            with suppress(NotFoundError):
                if self.queue.get(parent).state == "parked":
                    self.wake(parent)

    def _is_over(self, run: str) -> bool:
        with suppress(NotFoundError):
            return self.queue.get(run).state in ("done", "dead")
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
            await asyncio.sleep(min(left, POLL_S / 2))
