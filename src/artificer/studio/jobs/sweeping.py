"""Finding jobs: the runs that were submitted to workers, and have something to go on with.

It begins when a worker first asks for a job: a studio without workers over HTTP leaves such runs to
the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from artificer.dispatch.sweeper import Sweeper
from artificer.ports import DispatchedRun, ExecuteSegment
from artificer.studio.jobs.queue import JobQueue
from artificer.world import World


class QueueDispatcher:
    """A `Dispatcher` that puts runs into the queue of jobs; workers serve it over HTTP."""

    def __init__(self, queue: JobQueue, changed: Callable[[], None]) -> None:
        self._queue = queue
        self._changed = changed

    async def submit(self, wanted: DispatchedRun) -> None:
        """Queue a run that is no job yet. Raises OperatorError."""
        if self._queue.add(wanted.run, wanted.priority):
            self._changed()

    async def wake(self, run: str, cause: str) -> None:
        """Queue a parked job again."""
        self._queue.wake(run)
        self._changed()

    async def cancel(self, run: str, reason: str) -> None:
        """Queue a job that has got a signal to end."""
        await self.wake(run, reason)

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Do nothing: the workers come by themselves."""

    async def aclose(self) -> None:
        """Do nothing: the queue is closed with its studio."""


class Sweeping:
    """Sweeps a world from the first lease on, until it is closed."""

    def __init__(self, world: World, queue: JobQueue, changed: Callable[[], None]) -> None:
        self._begin: Callable[[], Awaitable[None]] = Sweeper(
            world, QueueDispatcher(queue, changed)
        ).run
        self._task: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Begin to sweep, unless that has begun."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._begin())

    async def aclose(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
