"""A worker: it executes runs that other processes submitted, and sweeps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct

from artificer.dispatch.agents import NO_AGENTS, Agents
from artificer.dispatch.assigned import assigned_runs
from artificer.dispatch.course import Course, WorkerReport, ended
from artificer.dispatch.left import LeftRuns
from artificer.dispatch.segments import REFUSED_S, Segments
from artificer.dispatch.sweeper import GOING_ON, Sweeper, SweepTimes
from artificer.errors import MovedError, OperatorError
from artificer.plugins import package_of
from artificer.ports import Dispatcher, Parked, SegmentEnd
from artificer.world import World

log = logging.getLogger("artificer.worker")

SHOWN = 5
"""Runs that the log names of those which are left alone."""


class WorkerOptions(Struct, frozen=True):
    """How a worker works.

    ``slots`` is how many runs it executes at once, ``grace_s`` how long those in progress may
    continue when it is stopped. ``until_idle`` ends it when no submitted run can continue by
    itself, other than those that it cannot execute: their agent is not here, or a server of tools
    does not answer.
    """

    slots: int = 8
    grace_s: float = 25.0
    until_idle: bool = False
    sweep: SweepTimes = SweepTimes()


class Worker:
    """Executes the runs of a world as a dispatcher hands them out."""

    def __init__(
        self,
        world: World,
        dispatcher: Dispatcher,
        agents: Agents = NO_AGENTS,
        options: WorkerOptions | None = None,
    ) -> None:
        self._options = options or WorkerOptions()
        self._dispatcher = dispatcher
        self._world = world
        assigned = assigned_runs(world)
        self._sweeper = Sweeper(world, dispatcher, self._options.sweep, assigned)
        self._segments = Segments(world, agents, self._sweeper.wake_caller)
        self._course = Course()
        self._left = LeftRuns() if self._options.until_idle else None
        self._moved: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Work until the task is cancelled; then end in order, so that others continue at once.

        Nothing new is begun, runs in progress have a while to become idle, and those that do not
        are stopped where they are and released. Raises OperatorError if there is no dispatcher, and
        MovedError if the world is not what this process knew.
        """
        moved = self._moved = asyncio.get_running_loop().create_future()
        sweeping = asyncio.create_task(self._sweeper.run(), name="sweeper")
        serving = asyncio.create_task(
            self._dispatcher.serve(self._execute, self._options.slots, self._options.grace_s),
            name="dispatcher",
        )
        tasks: list[asyncio.Future[None]] = [sweeping, serving, moved]
        if self._left is not None:
            tasks.append(asyncio.create_task(self._until_idle(self._left), name="until idle"))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._course.stopping()
            raise
        finally:
            for task in tasks:
                await ended(task)
            self._course.stopped()
        for task in tasks:  # there is an error to raise, or nothing left to do
            if not task.cancelled():
                task.result()
        if done == {serving}:
            package = package_of(self._dispatcher)
            raise OperatorError(
                f"The dispatcher{f' of {package}' if package else ''} stopped serving, although "
                "the worker was not stopped.",
                hint="The runs are kept: start another worker. If this happens again, it is a bug "
                "in the dispatcher, which has to serve until it is cancelled.",
            )

    def report(self) -> WorkerReport:
        """Return what it does and has done."""
        return self._course.report(self._sweeper.backlog)

    async def _until_idle(self, left: LeftRuns) -> None:
        """Return when no run is open, here or with another worker, but those left alone here."""
        while True:
            await asyncio.sleep(self._options.sweep.new_s)
            if self._course.executing:
                continue
            await self._sweeper.look_at_all(GOING_ON)
            number = self._sweeper.backlog.open
            found = await left.open_ones(self._world.storage, self._segments.abandoned)
            if number <= len(found) and not self._course.executing:
                if found:
                    log.warning("runs are left that cannot be executed here: %s", _some(found))
                return

    async def _execute(self, run: str, cause: str) -> SegmentEnd:
        try:
            end = await self._course.follow(self._segments.execute, run, cause)
        except MovedError as error:
            log.error("nothing can be executed: %s", error.message)
            if self._moved is not None and not self._moved.done():
                self._moved.set_exception(error)
            return Parked(REFUSED_S)
        if self._left is not None:
            self._left.ended(run, end)
        return end


def _some(runs: Sequence[str]) -> str:
    more = [f"and {len(runs) - SHOWN} more"] if len(runs) > SHOWN else []
    return ", ".join([*runs[:SHOWN], *more])
