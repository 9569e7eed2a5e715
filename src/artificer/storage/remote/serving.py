"""Serving jobs: lease one, execute its run, say its status; and let go of what is lost."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from artificer.errors import AccessError, ArtificerError, BugError, NotFoundError, OperatorError
from artificer.ports import Head
from artificer.storage.remote.client import ApiCall, UnreachableError
from artificer.storage.remote.leases import HeldJob
from artificer.storage.remote.permits import LimitOf
from artificer.storage.remote.storage import RemoteStorage
from artificer.system.tasks import drain, finished

log = logging.getLogger("artificer.worker")

CAUSE = "lease"
"""Why a run is executed now: it was leased."""

LAST_S = 0.1
"""Seconds before the end of a lease when a worker tries to renew it for the last time."""

MAX_PAUSE_S = 10.0
"""Seconds between two tries to reach a server that does not answer."""


class SegmentAnswer(Struct, frozen=True):
    """How a run stands when it is idle: over, waiting, or waiting for runs that it has started."""

    outcome: Literal["done", "parked", "children"]
    seconds: float | None = None
    runs: tuple[str, ...] = ()


ExecuteJob = Callable[[str, str], Awaitable[SegmentAnswer]]
"""Execute a run until it is idle; takes its id and the cause. Cancelling it leaves it resumable."""


class LeaseTimes(Struct, frozen=True):
    """``lease_s`` is how long a lease lasts without a heartbeat, ``wait_s`` how long the server
    looks for a job, ``beat_s`` the time between heartbeats; without one, a third of the lease.
    ``pause_s`` is how long to wait after an error; each time twice as long."""

    lease_s: int = 30
    wait_s: int = 20
    beat_s: float | None = None
    pause_s: float = 0.5


class _Leased(Struct):
    run: str
    attempt: int
    fence: int
    head: Head
    former: str


class _LeaseFound(Struct):
    job: _Leased | None
    limits: list[LimitOf] = []


class _Any(Struct):
    pass


class JobServer:
    """Executes the jobs of a studio, until its task is cancelled."""

    def __init__(self, storage: RemoteStorage, times: LeaseTimes | None = None) -> None:
        self._storage = storage
        self._api = storage.api
        self._times = times or LeaseTimes()
        self._working = set[asyncio.Task[None]]()
        self.problem = ""
        """Why no job can be leased now: ``studio`` where it does not answer; nothing if it does."""

    async def serve(self, execute: ExecuteJob, slots: int, grace_s: float = 0) -> None:
        """Execute at most ``slots`` jobs at once; then give back what is in progress.

        When the task is cancelled, nothing more is leased. What does not end within ``grace_s`` is
        cancelled and released, so that another worker continues at once.
        """
        free = asyncio.Semaphore(slots)
        try:
            while True:
                await free.acquire()
                job = await self._lease()
                task = asyncio.create_task(self._work(job, execute), name=f"job {job.run}")
                self._working.add(task)
                task.add_done_callback(self._working.discard)
                task.add_done_callback(lambda _: free.release())
        finally:
            await finished(drain(self._working, grace_s))

    async def _lease(self) -> HeldJob:
        """Lease the next job, however long that takes: a server may be without its database.

        Raises AccessError if the token may not, NotFoundError if there are no jobs.
        """
        pause = self._times.pause_s
        while True:
            wait = self._times.wait_s
            body = {
                "request": secrets.token_hex(16),
                "seconds": self._times.lease_s,
                "wait": wait,
            }
            try:
                path = ("jobs", "lease")
                found = await self._api.ask(_LeaseFound, "POST", path, None, body, wait=wait)
                self.problem = ""
            except (AccessError, NotFoundError):
                raise
            except (OperatorError, BugError) as error:  # the server's bug: it may answer again
                self.problem = "studio"
                log.warning("no job can be leased: %s", error.message)
                await asyncio.sleep(pause)
                pause = min(pause * 2, MAX_PAUSE_S)
                continue
            self._storage.permits.learn(found.limits)
            if (job := found.job) is not None:
                return HeldJob(job.run, job.attempt, job.fence, job.head, job.former)

    async def _work(self, job: HeldJob, execute: ExecuteJob) -> None:
        """Execute a job, as long as its lease lasts, and say how it ended."""
        with self._storage.held.holding(job):
            executing = asyncio.ensure_future(execute(job.run, CAUSE))
            beating = asyncio.create_task(self._beat(job, executing))
            try:
                await asyncio.wait((executing,))
                await self._report(job, executing)
            except asyncio.CancelledError:
                executing.cancel()
                await asyncio.wait((executing,))
                await finished(self._end_lease(job, "release", {}))
                raise
            finally:
                beating.cancel()
                for run in self._storage.held.runs_of(job):
                    self._storage.snapshots.drop(run)

    async def _report(self, job: HeldJob, executing: asyncio.Future[SegmentAnswer]) -> None:
        """Report to the server how an execution has ended; nothing if the lease was lost."""
        if job.is_lost or executing.cancelled():
            return
        error = executing.exception()
        if error is not None:
            why = error.message if isinstance(error, ArtificerError) else type(error).__name__
            log.error("run %s cannot be executed here: %s", job.run, why)
            await self._end_lease(job, "fail", {"error": why[:2_000] or "It failed."})
            return
        segment = executing.result()
        ending = {"outcome": segment.outcome, "seconds": segment.seconds, "runs": segment.runs}
        await self._end_lease(job, "complete", ending)

    async def _end_lease(self, job: HeldJob, what: str, body: Mapping[str, object]) -> None:
        """Say how a lease ends. What the server does not hear, it learns when the lease lapses."""
        try:
            path, call = ("jobs", job.run, what), ApiCall(self._times.lease_s)
            await self._api.ask(_Any, "POST", path, None, {**job.token(), **body}, call=call)
        except ArtificerError as error:
            log.warning("the lease of run %s was not ended in order: %s", job.run, error.message)

    async def _beat(self, job: HeldJob, executing: asyncio.Future[SegmentAnswer]) -> None:
        """Renew a lease until it is lost; then end all work on the run at once."""
        lasts = self._times.lease_s
        every = self._times.beat_s or lasts / 3
        until = time.monotonic() + lasts
        while True:
            await asyncio.sleep(max(0.0, min(every, until - time.monotonic() - LAST_S)))
            sent = time.monotonic()
            try:
                path, call = ("jobs", job.run, "heartbeat"), ApiCall(max(LAST_S, until - sent))
                await self._api.ask(_Any, "POST", path, None, job.token(), call=call)
                until = sent + lasts
            except ArtificerError as error:
                if isinstance(error, (UnreachableError, BugError)) and time.monotonic() < until:
                    continue
                if executing.done():
                    return
                log.warning("the lease of run %s is lost: %s", job.run, error.message)
                job.is_lost = True
                with suppress(RuntimeError):
                    executing.cancel()
                return
