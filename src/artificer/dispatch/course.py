"""The work of a worker: what it is executing, and how earlier segments ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter

from msgspec import Struct

from artificer.dispatch.sweeper import Backlog
from artificer.ports import AwaitsRuns, ExecuteSegment, Parked, RunOver, SegmentEnd

log = logging.getLogger("artificer.worker")


class WorkerReport(Struct, frozen=True):
    """The work of a worker, in progress and done: for health checks and metrics.

    ``executing`` are the runs in progress with the seconds since their segments began, ``ended``
    counts segments by how they ended: ``over``, ``parked``, ``awaits``, ``stopped`` or ``broken``.
    ``backlog`` is what the last sweep found, in the one of several workers that looks at all runs;
    None in a worker that does not look.
    """

    executing: dict[str, float]
    ended: dict[str, int]
    backlog: Backlog | None
    draining: bool


class Course:
    """Follows the segments that a worker executes, counts and logs them."""

    def __init__(self) -> None:
        self.executing: dict[str, float] = {}
        self.draining = False
        self._ended = Counter[str]()

    async def follow(self, execute: ExecuteSegment, run: str, cause: str) -> SegmentEnd:
        """Execute a segment. Raises what that raises."""
        began = time.monotonic()
        self.executing.setdefault(run, began)
        log.info("executing", extra={"run": run, "cause": cause.partition(":")[0]})
        how = "broken"
        try:
            end = await execute(run, cause)
            how = _WORDS[type(end)]
            return end
        except asyncio.CancelledError:
            how = "stopped"
            raise
        finally:
            self.executing.pop(run, None)
            self._ended[how] += 1
            seconds = round(time.monotonic() - began, 3)
            log.info("executed", extra={"run": run, "ended": how, "seconds": seconds})

    def stopping(self) -> None:
        """Announce that nothing new starts from now on."""
        self.draining = True
        log.info("stopping", extra={"executing": len(self.executing)})

    def stopped(self) -> None:
        """Say that everything has ended."""
        log.info("stopped", extra={"ended": dict(self._ended)})

    def report(self, backlog: Backlog | None = None) -> WorkerReport:
        """Return what the worker does and has done."""
        now = time.monotonic()
        executing = {run: now - began for run, began in self.executing.items()}
        return WorkerReport(executing, dict(self._ended), backlog, self.draining)


_WORDS: dict[type[SegmentEnd], str] = {RunOver: "over", Parked: "parked", AwaitsRuns: "awaits"}


async def ended(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait for its end, however long it takes to end in order."""
    task.cancel()
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        return
