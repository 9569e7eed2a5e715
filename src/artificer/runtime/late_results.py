"""The results of calls whose work goes on after their end, because nothing can stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from artificer.core.events import ReceiptIgnored
from artificer.core.intents import CallTool
from artificer.ports import CallMonitor, CallProgress, Outliving


class LateResults:
    """The late results that one run waits for. ``wake`` is called when there is one."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._tasks: dict[asyncio.Task[ReceiptIgnored], CallTool] = {}

    def add(self, intent: CallTool, task: asyncio.Task[ReceiptIgnored]) -> None:
        """Wait for the late result of a call."""
        task.add_done_callback(lambda _: self._wake())
        self._tasks[task] = intent

    def take(self) -> list[ReceiptIgnored]:
        """Return those that have come since the last call."""
        done = [task for task in self._tasks if task.done()]
        for task in done:
            del self._tasks[task]
        return [task.result() for task in done if task.exception() is None]

    def awaits(self, number: int) -> bool:
        """Whether the result of the intent of this number is still to come."""
        return any(intent.n == number for intent in self._tasks.values())

    def give_up(self) -> None:
        """Wait no longer. The work goes on; nobody records its result."""
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
    ) -> None:
        self._intent = intent
        self._report = report
        self._outlived = outlived

    def progressed(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Pass on a report."""
        call, tool = self._intent.call_id, self._intent.tool
        self._report(CallProgress(call, tool, message, done, total))

    def outlived(self, work: Outliving) -> None:
        """Have the run wait for the late result."""
        self._outlived(self._intent, work)
