"""The results of calls whose work continues after their end, because nothing can stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from artificer.core.events import Event, ReceiptIgnored
from artificer.core.intents import CallTool
from artificer.core.late import resolved_by
from artificer.core.steps import is_pending
from artificer.ports import CallMonitor, CallProgress, Outliving
from artificer.runtime.ledger import Ledger
from artificer.runtime.perform import Performer


class LateResults:
    """The late results that one run waits for. ``wake`` is called when there is one."""

    def __init__(self, ledger: Ledger, performer: Performer, wake: Callable[[], None]) -> None:
        self._ledger = ledger
        self._performer = performer
        self._wake = wake
        self._tasks: dict[asyncio.Task[ReceiptIgnored], CallTool] = {}

    def add(self, call: CallTool, work: Outliving) -> None:
        """Wait for the late result of a call."""
        chars = self._ledger.state.run_spec.limits.result_chars
        task = asyncio.ensure_future(self._performer.tool_calls.late_result(call, work, chars))
        task.add_done_callback(lambda _: self._wake())
        self._tasks[task] = call

    def follow_living(self) -> None:
        """Wait for those of doubtful calls that were begun when this run was executed before."""
        doubtful = {doubt.call_id for doubt in self._ledger.state.doubts}
        for call, work in self._performer.tool_calls.left_behind(self._ledger.run):
            if call.call_id in doubtful:
                self.add(call, work)

    async def record(self) -> None:
        """Record those that have come, each with what it tells about its call.

        A call is answered first, and its late result is recorded after that.
        """
        for task, call in list(self._tasks.items()):
            if not task.done() or is_pending(self._ledger.state, call.n):
                continue
            del self._tasks[task]
            if task.exception() is None:
                resolved = resolved_by(self._ledger.state, call, task.result())
                late: list[Event] = [task.result()]
                late += [] if resolved is None else [resolved]
                await self._ledger.commit(*late)
                self._performer.tool_calls.late_recorded(self._ledger.run, call)

    def awaits(self, number: int) -> bool:
        """Whether the result of the intent of this number is still to come."""
        return any(intent.n == number for intent in self._tasks.values())

    def give_up(self) -> None:
        """Wait no longer. The work continues; nobody records its result."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()


class CallFollower(CallMonitor):
    """Follows one call for a run loop."""

    def __init__(
        self,
        intent: CallTool,
        report: Callable[[CallProgress], None],
        outlived: Callable[[CallTool, Outliving], None],
        trace: Callable[[int], str],
    ) -> None:
        self._intent = intent
        self._report = report
        self._outlived = outlived
        self._trace = trace

    def progressed(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Pass on a report."""
        call, tool = self._intent.call_id, self._intent.tool
        report = CallProgress(call_id=call, tool=tool, message=message, done=done, total=total)
        self._report(report)

    def outlived(self, work: Outliving) -> None:
        """Have the run wait for the late result."""
        self._outlived(self._intent, work)

    def traceparent(self) -> str:
        """Begin the call's span."""
        return self._trace(self._intent.n)
