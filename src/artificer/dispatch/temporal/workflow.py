"""The workflow of one run: segments, and the time between them.

Its history holds the run's id, causes and delays, from which Temporal repeats it: so it imports
nothing of ours, and asks no clock and no file. What it does may change only for new workflows.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

WORKFLOW, ACTIVITY = "artificer.run", "artificer.execute"

CANCEL_QUEUE = ".cancel"
"""The end of the name of the queue of cancellations: they do not wait for a free slot."""

CANCELS_NEED_NO_SLOT = "cancels-need-no-slot"
"""A change of this module: the cancellation of a parked run waits for no slot either."""

SEGMENTS = 200
"""Segments after which the history begins again."""

AWAITED_S = 15.0
"""Seconds between two looks at a run that waits for others."""

_SEGMENT = timedelta(days=365)
_AGAIN = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10))


@workflow.defn(name=WORKFLOW)
class RunWorkflow:
    """Has a run executed until it has ended."""

    def __init__(self) -> None:
        self._causes: list[str] = []
        self._cancels: list[str] = []

    @workflow.signal
    def wake(self, cause: str) -> None:
        """Something has happened to the run: it is executed again."""
        if len(self._causes) < 2:  # one more segment sees all that has happened before it
            self._causes.append(cause)

    @workflow.signal
    def cancel(self, cause: str) -> None:
        """The run is to end, even while it is executed."""
        if len(self._cancels) < 2:
            self._cancels.append(cause)

    @workflow.run
    async def run(self, run: str, cause: str, lane: str, beat_s: float) -> None:
        """Execute segments until the run has ended."""
        for _ in range(SEGMENTS):
            end = await self._segment(run, cause, lane, beat_s)
            over = end["kind"] == "over"
            if over and not self._causes and not self._cancels:
                return
            seconds = 0.0 if over else AWAITED_S if end["kind"] == "awaits" else end["seconds"]
            cause = await self._next(seconds)
        workflow.continue_as_new(args=[run, cause, lane, beat_s])

    async def _next(self, seconds: float | None) -> str:
        """Wait until something happens, and return it."""
        try:
            await workflow.wait_condition(
                lambda: bool(self._causes or self._cancels),
                timeout=None if seconds is None else timedelta(seconds=max(seconds, 0.001)),
            )
        except TimeoutError:
            return "timer"
        except asyncio.CancelledError:  # someone cancels the workflow itself
            return "cancel:cancelled in Temporal"
        return (self._cancels or self._causes).pop(0)

    async def _segment(self, run: str, cause: str, lane: str, beat_s: float) -> dict[str, Any]:
        """Execute a segment; meanwhile cancellations are executed next to it."""
        self._causes.clear()
        ends = cause.startswith("cancel:") and workflow.patched(CANCELS_NEED_NO_SLOT)
        executing = self._execute(run, cause, lane, beat_s, CANCEL_QUEUE if ends else "")
        while not executing.done():
            try:
                await workflow.wait_condition(lambda: executing.done() or bool(self._cancels))
            except asyncio.CancelledError:
                self._cancels.append("cancel:cancelled in Temporal")
            if self._cancels and not executing.done():
                await self._execute(run, self._cancels.pop(0), lane, beat_s, CANCEL_QUEUE)
        return await executing

    @staticmethod
    def _execute(
        run: str, cause: str, lane: str, beat_s: float, queue: str
    ) -> workflow.ActivityHandle[dict[str, Any]]:
        return workflow.start_activity(
            ACTIVITY,
            args=[run, cause, lane],
            result_type=dict[str, Any],
            task_queue=workflow.info().task_queue + queue,
            start_to_close_timeout=_SEGMENT,
            heartbeat_timeout=timedelta(seconds=beat_s),
            retry_policy=_AGAIN,
        )
