"""Conformance tests for dispatchers, to run with your own.

Subclass `DispatcherSuite` in a test module and give it a pytest fixture ``dispatcher`` that yields
a fresh one, opened with `OpenLanes`. The tests are coroutines: pytest-asyncio runs them in its
``auto`` mode. They need no runs: `ScriptedSegments` replaces their execution.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence, Set
from contextlib import asynccontextmanager

from artificer.ports import (
    CANCEL,
    AwaitsRuns,
    DispatchedRun,
    Dispatcher,
    ExecuteSegment,
    Parked,
    RunOver,
    SegmentEnd,
)

WITHIN_S = 120
"""Seconds after which a test gives up. No test waits for this time to pass."""


class OpenLanes:
    """Lanes without limits (`ports.RunLanes`), for the place of a dispatcher under test.

    place = DispatcherPlace("mine:…", "world", OpenLanes())
    """

    closed: Set[str] = frozenset()

    def ask(self, lane: str) -> bool:
        """Return that the lane has no limits."""
        return False

    def open(self, lane: str, opened: Callable[[], None]) -> None:
        """Do nothing: no lane was closed."""

    async def execute(
        self,
        execute: ExecuteSegment,
        wanted: DispatchedRun,
        cause: str,
        opened: Callable[[], None] = lambda: None,
    ) -> SegmentEnd:
        """Execute a segment at once."""
        return await execute(wanted.run, cause)


class ScriptedSegments:
    """Executes segments according to a script, and keeps a list of what was executed.

    ``ends`` are the ends of a run's segments, in order, by its id; after them it has ended. A
    segment of a run in ``held`` continues until `let_go`, or until it is cancelled.
    """

    def __init__(self, held: Sequence[str] = (), **ends: Sequence[SegmentEnd]) -> None:
        self.executed: list[tuple[str, str]] = []
        self.at_once = self.peak = 0
        self.cancelled: list[str] = []
        self._ends = {run: list(each) for run, each in ends.items()}
        self._held = set(held)
        self._changed = asyncio.Condition()

    async def execute(self, run: str, cause: str) -> SegmentEnd:
        """Execute a segment; implements `ports.ExecuteSegment`."""
        self.at_once += 1
        self.peak = max(self.at_once, self.peak)
        await self._note(run, cause)
        try:
            if cause.startswith(CANCEL):
                await self.let_go(run)
                return RunOver()
            async with self._changed:
                await self._changed.wait_for(lambda: run not in self._held)
            left = self._ends.get(run)
            return left.pop(0) if left else RunOver()
        except asyncio.CancelledError:
            self.cancelled.append(run)
            raise
        finally:
            self.at_once -= 1

    async def let_go(self, run: str) -> None:
        """Let the segments of a run end."""
        async with self._changed:
            self._held.discard(run)
            self._changed.notify_all()

    async def until(self, *runs: str) -> list[tuple[str, str]]:
        """Wait until segments of these runs have started, each as often as it is listed."""
        async with asyncio.timeout(WITHIN_S), self._changed:
            await self._changed.wait_for(
                lambda: all(self._count(run) >= runs.count(run) for run in runs)
            )
        return list(self.executed)

    async def _note(self, run: str, cause: str) -> None:
        async with self._changed:
            self.executed.append((run, cause))
            self._changed.notify_all()

    def _count(self, run: str) -> int:
        return sum(1 for name, _ in self.executed if name == run)


@asynccontextmanager
async def serving(
    dispatcher: Dispatcher, script: ScriptedSegments, slots: int = 4, grace_s: float = 0
) -> AsyncIterator[asyncio.Task[None]]:
    """Let a dispatcher serve with scripted segments."""
    task = asyncio.create_task(dispatcher.serve(script.execute, slots, grace_s))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class DispatcherSuite:
    """The behavior of the `Dispatcher` port. Subclass it and give it a fixture ``dispatcher``."""

    async def test_a_run_is_executed_once_however_often_it_is_submitted(
        self, dispatcher: Dispatcher
    ) -> None:
        """Repeated submissions change nothing, before serving and while the run executes."""
        script = ScriptedSegments(held=["a"])
        for _ in range(3):
            await dispatcher.submit(DispatchedRun("a"))
        async with serving(dispatcher, script):
            await script.until("a")
            await dispatcher.submit(DispatchedRun("a"))
            await script.let_go("a")
            await dispatcher.submit(DispatchedRun("last"))
            await script.until("last")
        assert [run for run, _ in script.executed].count("a") == 1

    async def test_a_parked_run_is_executed_again_when_it_is_woken(
        self, dispatcher: Dispatcher
    ) -> None:
        """It is executed with the cause; submitting it again does not wake it."""
        script = ScriptedSegments(a=[Parked()])
        async with serving(dispatcher, script):
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.submit(DispatchedRun("a"))
            await dispatcher.wake("a", "signal")
            executed = await script.until("a", "a")
        assert executed[1] == ("a", "signal")

    async def test_a_run_that_is_woken_while_it_is_executed_goes_on_after_that(
        self, dispatcher: Dispatcher
    ) -> None:
        """No signal is lost between the check for signals and the end of the segment."""
        script = ScriptedSegments(held=["a"], a=[Parked()])
        async with serving(dispatcher, script):
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.wake("a", "signal")
            await script.let_go("a")
            await script.until("a", "a")

    async def test_a_run_that_waits_for_a_time_goes_on_by_itself(
        self, dispatcher: Dispatcher
    ) -> None:
        """A delayed retry starts without another request."""
        script = ScriptedSegments(a=[Parked(0.05), Parked(0)])
        async with serving(dispatcher, script):
            await dispatcher.submit(DispatchedRun("a"))
            executed = await script.until("a", "a", "a")
        assert executed[1][1] == "timer"

    async def test_a_run_that_waits_for_others_goes_on_when_it_is_woken(
        self, dispatcher: Dispatcher
    ) -> None:
        """It continues then at the latest; a dispatcher may notice earlier that they ended."""
        script = ScriptedSegments(a=[AwaitsRuns(("a.child",))])
        async with serving(dispatcher, script):
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.wake("a", "child")
            await script.until("a", "a")

    async def test_a_cancellation_reaches_a_run_that_is_executed(
        self, dispatcher: Dispatcher
    ) -> None:
        """It does not wait for the segment in progress, whose tool may run for hours."""
        script = ScriptedSegments(held=["a", "b"], b=[Parked()])
        async with serving(dispatcher, script):
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.cancel("a", "enough")
            executed = await script.until("a", "a")
        assert executed[1] == ("a", f"{CANCEL}enough")

    async def test_a_cancellation_reaches_a_parked_run_and_one_that_nobody_knows(
        self, dispatcher: Dispatcher
    ) -> None:
        """A dispatcher may have forgotten a run that is in the journal."""
        script = ScriptedSegments(a=[Parked()])
        async with serving(dispatcher, script):
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.cancel("a", "enough")
            await dispatcher.cancel("b", "never begun")
            executed = await script.until("a", "a", "b")
        assert {("a", f"{CANCEL}enough"), ("b", f"{CANCEL}never begun")} <= set(executed)

    async def test_a_cancellation_of_a_parked_run_needs_no_slot(
        self, dispatcher: Dispatcher
    ) -> None:
        """The runs that it started may occupy all slots and run for hours."""
        script = ScriptedSegments(held=["a.child"], a=[AwaitsRuns(("a.child",))])
        async with serving(dispatcher, script, slots=1):
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.submit(DispatchedRun("a.child"))
            await script.until("a.child")
            await dispatcher.cancel("a", "enough")
            executed = await script.until("a", "a")
        assert executed[-1] == ("a", f"{CANCEL}enough")

    async def test_no_more_runs_are_executed_at_once_than_there_are_slots(
        self, dispatcher: Dispatcher
    ) -> None:
        """The number of slots limits executing runs; a parked run takes no slot."""
        runs = [f"r{number}" for number in range(6)]
        script = ScriptedSegments(held=runs, parked=[Parked()])
        async with serving(dispatcher, script, slots=2):
            await dispatcher.submit(DispatchedRun("parked"))
            await script.until("parked")
            for run in runs:
                await dispatcher.submit(DispatchedRun(run))
            for run in runs:
                await script.let_go(run)
            await script.until(*runs)
        assert script.peak <= 2

    async def test_what_is_under_way_at_the_end_is_stopped(self, dispatcher: Dispatcher) -> None:
        """Work in progress is stopped and awaited, because the process may end afterwards."""
        script = ScriptedSegments(held=["a"])
        async with serving(dispatcher, script) as task:
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            task.cancel()
            await asyncio.wait((task,))
        assert script.cancelled == ["a"]
        assert script.at_once == 0

    async def test_with_grace_it_may_end_by_itself(self, dispatcher: Dispatcher) -> None:
        """During the grace period a segment may end by itself, and nothing new begins."""
        script = ScriptedSegments(held=["a"])
        async with serving(dispatcher, script, slots=1, grace_s=WITHIN_S) as task:
            await dispatcher.submit(DispatchedRun("a"))
            await script.until("a")
            await dispatcher.submit(DispatchedRun("b"))
            task.cancel()
            await asyncio.sleep(0)
            await script.let_go("a")
            await asyncio.wait((task,))
        assert script.cancelled == []
        assert [run for run, _ in script.executed] == ["a"]
