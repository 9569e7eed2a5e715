"""Small runs that workers execute: how many in a second, and how long each waits for its start."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from artificer.dispatch.kinds import KINDS, DispatcherPlace
from artificer.dispatch.lanes import Lanes
from artificer.ports import DispatchedRun, RunOver, SegmentEnd
from cluster_kit import (
    AT_ONCE,
    SLOTS,
    BenchWorkers,
    PostgresServer,
    new_world,
    opened,
    percentile,
    submit_all,
    submitted,
    working,
)
from measure import Row

PAUSE_S = 0.1
"""Seconds between two runs of which the wait is measured."""

FEW = 20
"""Runs that are executed before anything is measured, and those of a tenant that has few."""


class Executed(NamedTuple):
    """How many runs were executed in a second, and how often each was begun."""

    rate: float
    attempts: float


def executed(
    server: PostgresServer, runs: int, workers: int, dispatcher: str = "local"
) -> Executed:
    """Let workers execute so many runs that are there."""
    url = new_world(server)
    with working(url, workers, dispatcher) as group:
        group.send(signal.SIGSTOP)
        asyncio.run(submit_all(url, [f"Add 1 and 2, number {n}." for n in range(runs)]))
        group.send(signal.SIGCONT)
        group.until_over(runs)
        done = group.done.values()
        seconds = max(each.over for each in done) - min(each.began for each in done)
        return Executed(runs / seconds, group.attempts / runs)


async def waits(
    url: str, group: BenchWorkers, runs: int, pause_s: float, tenant: str, before: int = 0
) -> list[float]:
    """Seconds from submitting each run to the moment when a worker begins to execute it.

    ``before`` runs more are to be over in the end.
    """
    at: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        async with opened(url, Path(folder)) as world:
            for n in range(runs):
                now = time.time()
                at[await submitted(world, f"Add 1 and 2, number {n} of {tenant}.", tenant)] = now
                await asyncio.sleep(pause_s)
    await asyncio.to_thread(group.until_over, runs + before)
    return [group.done[run].began - now for run, now in at.items()]


def waited(
    server: PostgresServer, runs: int, workers: int, dispatcher: str = "local"
) -> list[float]:
    """Seconds that single runs wait, while workers have nothing else to do."""
    url = new_world(server)
    with working(url, workers, dispatcher) as group:
        asyncio.run(waits(url, group, FEW, PAUSE_S, "warm"))
        return asyncio.run(waits(url, group, runs, PAUSE_S, "acme", FEW))


async def handed_out(url: str, runs: int) -> float:
    """How many runs that do nothing a dispatcher hands out in a second."""
    kind = KINDS.get(url.partition(":")[0])
    assert kind is not None
    dispatcher = await kind.open(DispatcherPlace(url, "bench", Lanes()))
    over, left = asyncio.Event(), set(range(runs))

    async def execute(run: str, _: str) -> SegmentEnd:
        left.discard(int(run))
        if not left:
            over.set()
        return RunOver()

    serving = asyncio.create_task(dispatcher.serve(execute, SLOTS))
    await asyncio.sleep(0)
    start = time.perf_counter()
    for first in range(0, runs, AT_ONCE):
        batch = range(first, min(runs, first + AT_ONCE))
        await asyncio.gather(*(dispatcher.submit(DispatchedRun(str(n))) for n in batch))
    await over.wait()
    seconds = time.perf_counter() - start
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    await dispatcher.aclose()
    return runs / seconds


def wait_rows(what: str, found: list[float]) -> Iterator[Row]:
    """The rows of the seconds that runs have waited."""
    for percent in (50, 99):
        yield Row(f"{what}: p{percent}", "ms wall", percentile(found, percent) * 1000)
