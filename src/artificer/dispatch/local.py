"""The dispatcher of one process: it needs no server, and forgets everything when it ends.

Several workers may each have one for the same world. A storage that several machines share says
which of them begins a run (`AssignedRuns`); the journal lets one of them execute it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Literal

from msgspec import Struct

from artificer.core.submission import FIRST
from artificer.dispatch.assigned import SUBMITTED
from artificer.dispatch.lanes import Lanes
from artificer.dispatch.turns import Turns
from artificer.errors import OperatorError
from artificer.ports import (
    CANCEL,
    AwaitsRuns,
    DispatchedRun,
    ExecuteSegment,
    LaneFull,
    Parked,
    RunAssignments,
    RunLanes,
    RunOver,
    SegmentEnd,
)
from artificer.system.tasks import drain

MAX_RUNS = 100_000
"""Runs that are dispatched at a time."""

AWAITED_S = 5.0
"""Seconds between two looks at a run that waits for others."""

DispatchStanding = Literal["queued", "executing", "parked"]

SegmentEnded = Callable[[asyncio.Task[SegmentEnd]], object]


class _Dispatched(Struct):
    """A run of the dispatcher. ``timer`` is that of a parked one; older ones mean nothing."""

    wanted: DispatchedRun
    cause: str
    standing: DispatchStanding = "queued"
    again: str = ""
    timer: int = 0


class LocalDispatcher:
    """Executes runs in this process, within the limits of their ``lanes``.

    With ``assigned``, it executes those that are assigned to it among all workers. ``awaited_s`` is
    how often it looks at a run that waits for others.
    """

    def __init__(
        self,
        lanes: RunLanes | None = None,
        limit: int = MAX_RUNS,
        assigned: RunAssignments | None = None,
        awaited_s: float = AWAITED_S,
    ) -> None:
        self._assigned = assigned
        self._awaited_s = awaited_s
        self._lanes: RunLanes = lanes or Lanes()
        self._limit = limit
        self._runs: dict[str, _Dispatched] = {}
        self._executing: dict[str, _Dispatched] = {}
        self._turns = Turns()
        self._cancelled: list[_Dispatched] = []
        self._timers: list[tuple[float, int, str]] = []
        self._numbers = count(1)
        self._tasks: dict[asyncio.Task[SegmentEnd], str] = {}
        self._changed = asyncio.Event()

    def counts(self) -> Counter[str]:
        """How many runs are queued, executing and parked."""
        return Counter(found.standing for found in self._runs.values())

    async def submit(self, wanted: DispatchedRun) -> None:
        """Have a run executed, unless it is dispatched already. Raises OperatorError."""
        self._submit(wanted, SUBMITTED)

    async def wake(self, run: str, cause: str) -> None:
        """Have a parked run executed again; one that is being executed continues after that."""
        found = self._runs.get(run)
        if found is None:
            return
        if found.standing == "executing":
            found.again = cause
        elif found.standing == "queued" and found.cause == SUBMITTED:
            found.cause = cause  # another worker may have it since: ask for it again
        elif found.standing == "parked":
            self._queue(found, cause)

    async def cancel(self, run: str, reason: str) -> None:
        """Have a run executed with the cause `CANCEL`, even while it is executed.

        It needs no slot: the runs that a parked one has called may have them all.
        """
        cause = f"{CANCEL}{reason}"
        if run not in self._runs:
            self._submit(DispatchedRun(run, FIRST), cause)
        found = self._runs[run]
        if found.standing == "executing":
            found.cause = found.again = cause
        elif found not in self._cancelled:
            self._turns.remove(found.wanted)
            found.standing, found.cause, found.timer = "queued", cause, 0
            self._cancelled.append(found)
        self._changed.set()

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Execute runs until the task is cancelled; those in progress then get ``grace_s``."""
        try:
            while True:
                self._changed.clear()
                self._begin(execute, slots)
                self._interrupt(execute)
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self._timers[0][0] if self._timers else None):
                        await self._changed.wait()
                self._ring()
        finally:
            await drain(self._tasks, grace_s)
            if self._assigned is not None:
                await self._assigned.leave()

    async def aclose(self) -> None:
        """Do nothing: what is dispatched here ends with the process."""

    # --- the runs -----------------------------------------------------------------------------

    def _submit(self, wanted: DispatchedRun, cause: str) -> None:
        if wanted.run in self._runs:
            return
        if len(self._runs) >= self._limit and not self._forget_parked():
            raise OperatorError(
                f"{self._limit} runs are already dispatched in this process.",
                hint="Wait for some to end. Start more workers, on other machines.",
            )
        found = self._runs[wanted.run] = _Dispatched(wanted, cause)
        self._queue(found, cause)

    def _forget_parked(self) -> bool:
        """Forget a run that waits for a signal: the sweeper brings it back when it gets one."""
        runs = self._runs.items()
        parked = next((run for run, f in runs if f.standing == "parked" and not f.timer), None)
        if parked is not None:
            del self._runs[parked]
        return parked is not None

    def _queue(self, found: _Dispatched, cause: str) -> None:
        found.standing, found.cause, found.timer = "queued", cause, 0
        self._turns.add(found.wanted)
        self._changed.set()

    def _park(self, found: _Dispatched, seconds: float | None) -> None:
        found.standing = "parked"
        if seconds is not None:
            found.timer = next(self._numbers)
            when = asyncio.get_running_loop().time() + max(0.0, seconds)
            heapq.heappush(self._timers, (when, found.timer, found.wanted.run))
            self._changed.set()

    def _ring(self) -> None:
        """Queue the runs whose time has come."""
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now:
            _, timer, run = heapq.heappop(self._timers)
            found = self._runs.get(run)
            if found is not None and found.timer == timer:
                self._queue(found, "timer")

    # --- executing ----------------------------------------------------------------------------

    def _begin(self, execute: ExecuteSegment, slots: int) -> None:
        """Begin to execute runs while there are slots, and all that are to end."""
        while self._cancelled:
            self._begin_one(execute, self._cancelled.pop(0))
        while len(self._executing) < slots:
            wanted = self._turns.next(self._lanes.closed)
            if wanted is None:
                break
            self._begin_one(execute, self._runs[wanted.run])

    def _begin_one(self, execute: ExecuteSegment, found: _Dispatched) -> None:
        self._executing[found.wanted.run] = found
        found.standing, found.again = "executing", ""
        self._execute(execute, found, found.cause, self._ended)

    def _interrupt(self, execute: ExecuteSegment) -> None:
        """Begin the cancellations of runs in progress, next to the segments that they end."""
        for found in self._executing.values():
            if found.again.startswith(CANCEL):
                self._execute(execute, found, found.again, self._forget)
                found.again = ""

    def _execute(
        self, execute: ExecuteSegment, found: _Dispatched, cause: str, ended: SegmentEnded
    ) -> None:
        within = partial(self._lanes.execute, execute, found.wanted, opened=self._changed.set)
        segment = within(cause) if self._assigned is None else self._if_ours(within, found, cause)
        task: asyncio.Task[SegmentEnd] = asyncio.ensure_future(segment)
        self._tasks[task] = found.wanted.run
        task.add_done_callback(ended)

    def _if_ours(
        self, within: Callable[[str], Awaitable[SegmentEnd]], found: _Dispatched, cause: str
    ) -> Awaitable[SegmentEnd]:
        """Execute a segment in its lane if it is assigned to us: another one's takes no room."""
        assert self._assigned is not None
        is_closed = not cause.startswith(CANCEL) and self._lanes.ask(found.wanted.lane)

        def execute(_: str, cause: str) -> Awaitable[SegmentEnd]:
            nonlocal is_closed
            is_closed = False  # by this segment itself from here on
            return within(cause)

        async def executed(assigned: RunAssignments) -> SegmentEnd:
            try:
                return await assigned.execute(execute, found.wanted.run, cause)
            finally:
                if is_closed:
                    self._lanes.open(found.wanted.lane, self._changed.set)

        return executed(self._assigned)

    def _forget(self, task: asyncio.Task[SegmentEnd]) -> str:
        self._changed.set()
        if not task.cancelled():
            task.exception()  # a bug, which its execution has logged
        return self._tasks.pop(task)

    def _ended(self, task: asyncio.Task[SegmentEnd]) -> None:
        found = self._executing.pop(self._forget(task))
        broken = task.cancelled() or task.exception() is not None
        end: SegmentEnd = Parked(self._awaited_s) if broken else task.result()
        if found.again:
            self._queue(found, found.again)
            return
        if broken and not task.cancelled() and isinstance(task.exception(), LaneFull):
            found.standing = "queued"
            self._turns.put_back(found.wanted)
            return
        match end:
            case RunOver():
                del self._runs[found.wanted.run]
            case Parked(seconds):
                self._park(found, seconds)
            case AwaitsRuns():
                self._park(found, self._awaited_s)
