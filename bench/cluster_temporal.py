"""Workers that a Temporal server hands their runs, next to the bare engine: empty activities.

The server is the one for development: its state is in SQLite, and it does not wait for the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta

from temporal_server import TemporalServer
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from cluster_kit import AT_ONCE, SLOTS, PostgresServer
from cluster_runs import PAUSE_S, Executed, executed, handed_out, wait_rows, waited
from measure import Row

WORKFLOW, ACTIVITY, QUEUE = "bench.bare", "bench.empty", "bench-bare"


@workflow.defn(name=WORKFLOW)
class _Bare:
    """One activity, and nothing else."""

    @workflow.run
    async def run(self, number: int) -> None:
        await workflow.execute_activity(
            ACTIVITY, number, start_to_close_timeout=timedelta(minutes=1)
        )


class BareEngine:
    """A worker of a Temporal server whose activities do nothing; ``began`` is when, by number."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._changed = asyncio.Event()
        self.began: dict[int, float] = {}

    def worker(self) -> Worker:
        """A worker that executes the activities."""

        @activity.defn(name=ACTIVITY)
        async def empty(number: int) -> None:
            self.began[number] = time.time()
            self._changed.set()

        return Worker(
            self._client,
            task_queue=QUEUE,
            workflows=[_Bare],
            activities=[empty],
            max_concurrent_activities=SLOTS,
            workflow_runner=UnsandboxedWorkflowRunner(),
        )

    async def start(self, number: int) -> None:
        """Start a workflow."""
        await self._client.start_workflow(WORKFLOW, number, id=f"bare-{number}", task_queue=QUEUE)

    async def until(self, count: int) -> None:
        """Wait until so many activities have begun."""
        while len(self.began) < count:
            self._changed.clear()
            await self._changed.wait()


async def handed_out_bare(address: str, runs: int) -> float:
    """How many empty activities begin in a second."""
    engine = BareEngine(await Client.connect(address))
    async with engine.worker():
        start = time.perf_counter()
        for first in range(0, runs, AT_ONCE):
            await asyncio.gather(*map(engine.start, range(first, min(runs, first + AT_ONCE))))
        await engine.until(runs)
        return runs / (time.perf_counter() - start)


async def waited_bare(address: str, runs: int) -> list[float]:
    """Seconds from the start of single workflows to that of their empty activities."""
    engine = BareEngine(await Client.connect(address))
    at: dict[int, float] = {}
    async with engine.worker():
        for number in range(runs):
            at[number] = time.time()
            await engine.start(number)
            await asyncio.sleep(PAUSE_S)
        await engine.until(runs)
    return [engine.began[number] - then for number, then in at.items()]


def throughput(server: PostgresServer, runs: int, others: dict[int, Executed]) -> Iterator[Row]:
    """Workers with Temporal, next to as many ``others`` that PostgreSQL assigns their runs."""
    rate, found = "runs/s", dict[int, Executed]()
    with TemporalServer.running() as temporal:
        url = f"temporal://{temporal.address}/default"
        for workers, other in others.items():
            found[workers] = executed(server, runs, workers, url)
            what = f"{workers} with Temporal / {workers} with PostgreSQL alone"
            yield Row(what, rate, found[workers].rate, other.rate)
            times = found[workers].attempts
            yield Row(f"how often {workers} with Temporal begin a run", "times", times)
        few, many = min(found), max(found)
        yield Row(f"{many} with Temporal / {few}", rate, found[many].rate, found[few].rate)
        bare = asyncio.run(handed_out_bare(temporal.address, runs))
        yield Row(f"{many} with Temporal / its server, empty", rate, found[many].rate, bare)
        ours = asyncio.run(handed_out(url, runs))
        yield Row("our dispatcher with Temporal, empty / its server, empty", rate, ours, bare)


def waiting(server: PostgresServer, runs: int, workers: tuple[int, ...]) -> Iterator[Row]:
    """How long single runs wait with Temporal, and empty activities of its server."""
    with TemporalServer.running() as temporal:
        for each in workers:
            found = waited(server, runs, each, f"temporal://{temporal.address}/default")
            yield from wait_rows(f"from submit to start, {each} idle with Temporal", found)
        bare = asyncio.run(waited_bare(temporal.address, runs))
        yield from wait_rows("from start to activity, Temporal's server, empty", bare)
