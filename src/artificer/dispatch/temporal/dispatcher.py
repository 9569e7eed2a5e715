"""The dispatcher on a Temporal server: it leases, times, signals and balances."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, NoReturn

import msgspec
from temporalio import activity
from temporalio.client import Client
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from artificer.dispatch.temporal.workflow import ACTIVITY, CANCEL_QUEUE, WORKFLOW, RunWorkflow
from artificer.errors import OperatorError
from artificer.ports import (
    CANCEL,
    DispatchedRun,
    ExecuteSegment,
    LaneFull,
    Parked,
    RunAssignments,
    RunLanes,
    SegmentEnd,
)

log = logging.getLogger("artificer.dispatch.temporal")

RPC = timedelta(seconds=10)
"""How long a request to the server may take."""

LONGEST_CAUSE = 500
"""Characters of a cause that the server gets."""

CANCELS = 4
"""Cancellations that a worker executes at once, besides its slots."""

STARTS = 16
"""Workflows that a process starts or signals at once."""

STOP_S = 15.0
"""Seconds that the SDK may take to shut down, besides the grace of the runs in progress."""

AGAIN_S = 1.0
"""Seconds until a run is tried again whose worker stops, or, at least, whose lane is full."""


class TemporalDispatcher:
    """Has runs executed by workers on a task queue, which belongs to one world.

    A run's workflow is named after the queue and the run.
    ``beat_s`` is how long a worker may be silent until its runs are handed to another one.
    """

    def __init__(
        self,
        client: Client,
        queue: str,
        lanes: RunLanes,
        beat_s: float = 30.0,
        assigned: RunAssignments | None = None,
    ) -> None:
        """With ``assigned``, one of the workers that find a new run starts its workflow."""
        self._assigned = assigned
        self._starting = asyncio.Semaphore(STARTS)
        self._client = client
        self._queue = queue
        self._lanes = lanes
        self._beat_s = beat_s

    async def submit(self, wanted: DispatchedRun) -> None:
        """Start the workflow of a run, unless there is one. Raises OperatorError."""

        async def start() -> None:
            await self._start(wanted, "submitted")

        if self._assigned is None:
            await start()
        else:
            await self._assigned.hand_over(wanted.run, start)

    async def wake(self, run: str, cause: str) -> None:
        """Signal the workflow of a run, and start it if there is none. Raises OperatorError."""
        await self._start(DispatchedRun(run), cause, "wake", cause)

    async def cancel(self, run: str, reason: str) -> None:
        """Have a run end, even while it is executed. Raises OperatorError."""
        cause = f"{CANCEL}{reason}"[:LONGEST_CAUSE]
        await self._start(DispatchedRun(run), cause, "cancel", cause)

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Execute runs until the task is cancelled; those in progress then get ``grace_s``."""
        stopping = False

        @activity.defn(name=ACTIVITY)
        async def perform(run: str, cause: str, lane: str) -> dict[str, Any]:
            end: SegmentEnd = Parked(AGAIN_S)
            async with self._beating():
                if not stopping:  # the server may hand one out until it knows
                    end = await self._within(lane, execute, run, cause)
            found: dict[str, Any] = msgspec.to_builtins(end)
            found["kind"] = found.pop("type")
            return found

        grace = timedelta(seconds=grace_s)
        shared: dict[str, Any] = {"activities": [perform], "graceful_shutdown_timeout": grace}
        workers = [
            Worker(
                self._client,
                task_queue=self._queue,
                workflows=[RunWorkflow],
                workflow_runner=UnsandboxedWorkflowRunner(),  # it costs more than a workflow does
                max_concurrent_activities=slots,
                disable_eager_activity_execution=True,
                **shared,
            ),
            Worker(
                self._client,
                task_queue=self._queue + CANCEL_QUEUE,
                max_concurrent_activities=CANCELS,
                **shared,
            ),
        ]
        running = [asyncio.create_task(worker.run()) for worker in workers]
        try:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping = True
            await _stop(workers, running, grace_s + STOP_S)
        for task in running:
            if task.exception() is not None:
                _unreachable(task.exception())

    async def aclose(self) -> None:
        """Do nothing: the client closes with the process."""

    async def _start(self, wanted: DispatchedRun, cause: str, signal: str = "", *args: str) -> None:
        signalling: dict[str, Any] = {"start_signal": signal, "start_signal_args": args}
        turn = Priority(priority_key=wanted.priority, fairness_key=wanted.tenant or None)
        try:
            async with self._starting:
                await self._client.start_workflow(
                    WORKFLOW,
                    args=[wanted.run, cause, wanted.lane, self._beat_s],
                    id=f"{self._queue}:{wanted.run}",
                    task_queue=self._queue,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                    priority=turn,
                    rpc_timeout=RPC,
                    **(signalling if signal else {}),
                )
        except RPCError as error:
            _unreachable(error)

    async def _within(self, lane: str, execute: ExecuteSegment, run: str, cause: str) -> SegmentEnd:
        try:
            return await self._lanes.execute(execute, DispatchedRun(run, lane=lane), cause)
        except LaneFull as full:
            return Parked(max(AGAIN_S, full.seconds))

    @asynccontextmanager
    async def _beating(self) -> AsyncIterator[None]:
        """Report to the server that this worker lives, as long as a segment continues."""

        async def beat() -> None:
            while True:  # that it has started is known: most segments end before the first beat
                await asyncio.sleep(self._beat_s / 5)
                activity.heartbeat()

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _stop(workers: list[Worker], running: list[asyncio.Task[None]], within_s: float) -> None:
    """Have workers end. The SDK's shutdown may wait without end (temporalio/sdk-rust 1297)."""
    tasks = [*running, *(asyncio.create_task(worker.shutdown()) for worker in workers)]
    _, late = await asyncio.wait(tasks, timeout=within_s)
    if late:
        log.warning("Temporal's worker has not ended in %.0f s, and is left", within_s)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _unreachable(error: BaseException | None) -> NoReturn:
    reason = str(error).partition(": Status {")[0].rstrip(".")  # what follows is not for people
    if "amespace" in reason and "not found" in reason:
        raise OperatorError(
            f"The Temporal server does not have the namespace: {reason}.",
            hint="Correct [worker] dispatcher, or run: temporal operator namespace create -n …",
        ) from error
    raise OperatorError(
        f"The Temporal server refused: {reason}.",
        hint="Runs stay open in the journal: restart the server, and they continue.",
    ) from error
