"""A worker: it executes runs that other processes submitted, and sweeps."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import suppress

from msgspec import Struct

from artificer.dispatch.agents import NO_AGENTS, Agents
from artificer.dispatch.assigned import assigned_runs
from artificer.dispatch.segments import Segments
from artificer.dispatch.sweeper import GOING_ON, Backlog, Sweeper, SweepTimes
from artificer.ports import AwaitsRuns, Dispatcher, Parked, RunOver, SegmentEnd
from artificer.world import World

log = logging.getLogger("artificer.worker")


class WorkerOptions(Struct, frozen=True):
    """How a worker works.

    ``slots`` is how many runs it executes at once, ``grace_s`` how long those under way may go on
    when it is stopped. ``until_idle`` ends it when no submitted run can go on by itself.
    """

    slots: int = 8
    grace_s: float = 25.0
    until_idle: bool = False
    sweep: SweepTimes = SweepTimes()


class WorkerReport(Struct, frozen=True):
    """The work of a worker, under way and done: for health checks and metrics.

    ``executing`` are the runs under way with the seconds since their segments began, ``ended``
    counts segments by how they ended: ``over``, ``parked``, ``awaits``, ``stopped`` or ``broken``.
    ``backlog`` is what the last sweep found, in the one of several workers that looks at all runs.
    """

    executing: dict[str, float]
    ended: dict[str, int]
    backlog: Backlog
    draining: bool


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
        assigned = assigned_runs(world)
        self._sweeper = Sweeper(world, dispatcher, self._options.sweep, assigned, children=True)
        self._segments = Segments(world, agents, self._sweeper.wake_caller)
        self._executing: dict[str, float] = {}
        self._ended = Counter[str]()
        self._draining = False

    async def run(self) -> None:
        """Work until the task is cancelled; then end in order, so that others go on at once.

        Nothing new is begun, runs under way have a while to become idle, and those that do not are
        stopped where they are and released. Raises OperatorError where there is no dispatcher.
        """
        sweeping = asyncio.create_task(self._sweeper.run(), name="sweeper")
        serving = asyncio.create_task(
            self._dispatcher.serve(self._execute, self._options.slots, self._options.grace_s),
            name="dispatcher",
        )
        tasks = [sweeping, serving]
        if self._options.until_idle:
            tasks.append(asyncio.create_task(self._until_idle(), name="until idle"))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._draining = True
            log.info("stopping", extra={"executing": len(self._executing)})
            raise
        finally:
            for task in tasks:
                await _ended(task)
            log.info("stopped", extra={"ended": dict(self._ended)})
        for task in tasks:  # there is an error to raise, or nothing left to do
            if not task.cancelled():
                task.result()

    def report(self) -> WorkerReport:
        """Return what it does and has done."""
        now = time.monotonic()
        executing = {run: now - began for run, began in self._executing.items()}
        return WorkerReport(executing, dict(self._ended), self._sweeper.backlog, self._draining)

    async def _until_idle(self) -> None:
        """Return when no run is open, here or with another worker."""
        while True:
            await asyncio.sleep(self._options.sweep.new_s)
            if not self._executing:
                await self._sweeper.look_at_all(GOING_ON)
                if not self._executing and not self._sweeper.backlog.open:
                    return

    async def _execute(self, run: str, cause: str) -> SegmentEnd:
        began = time.monotonic()
        self._executing.setdefault(run, began)
        log.info("executing", extra={"run": run, "cause": cause.partition(":")[0]})
        how = "broken"
        try:
            end = await self._segments.execute(run, cause)
            how = _WORDS[type(end)]
            return end
        except asyncio.CancelledError:
            how = "stopped"
            raise
        finally:
            self._executing.pop(run, None)
            self._ended[how] += 1
            seconds = round(time.monotonic() - began, 3)
            log.info("executed", extra={"run": run, "ended": how, "seconds": seconds})


_WORDS: dict[type[SegmentEnd], str] = {RunOver: "over", Parked: "parked", AwaitsRuns: "awaits"}


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, however long it takes to end in order."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait((task,))
