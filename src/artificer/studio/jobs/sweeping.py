"""Finding jobs: the runs that were submitted to workers, and have something to continue with.

It begins when a worker first asks for a job: a studio without workers over HTTP leaves such runs to
the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from artificer.dispatch.sweeper import Sweeper
from artificer.ports import DispatchedRun, Dispatcher, ExecuteSegment
from artificer.studio.jobs.idle import IdleJobs
from artificer.studio.jobs.queue import JobQueue
from artificer.world import World, end_submitted


class QueueDispatcher:
    """A `Dispatcher` that puts runs into the queue of jobs; workers serve it over HTTP."""

    def __init__(
        self, world: World, queue: JobQueue, idle: IdleJobs, changed: Callable[[], None]
    ) -> None:
        self._world = world
        self._queue, self._idle = queue, idle
        self._changed = changed

    async def submit(self, wanted: DispatchedRun) -> None:
        """Queue a run that is not a job yet. Raises OperatorError."""
        if self._queue.add(wanted):
            self._changed()

    async def wake(self, run: str, cause: str) -> None:
        """Queue a parked job again."""
        self._idle.wake(run)
        self._changed()

    async def cancel(self, run: str, reason: str) -> None:
        """End a run without a worker, or queue it: then a worker takes the signal to end.

        The runs that it has called end at once, because they may have all the workers.
        """
        if await end_submitted(self._world, run, reason):
            self._idle.finish(run)
        else:
            self._idle.cancel(run)
        self._changed()

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Do nothing: the workers come by themselves."""

    async def aclose(self) -> None:
        """Do nothing: the queue is closed with its studio."""


class Sweeping:
    """Sweeps a world from the first lease on, until it is closed."""

    def __init__(self, world: World, dispatcher: Dispatcher) -> None:
        self._begin: Callable[[], Awaitable[None]] = Sweeper(world, dispatcher).run
        self._task: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Begin to sweep, unless that has started."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._begin())

    async def aclose(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
