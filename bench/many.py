"""Many runs in one process: what a turn costs among them, and what runs take that only wait.

    python bench/many.py [--runs 1000] [--turns 5] [--waiting-runs 2000]

Runs of a scripted model begin together; a turn's seconds on a processor are those of the whole
process, with the beginning and the end of the runs, over all turns. When the first runs end says
whether all get equal shares, so that nobody has a result before everybody has one. A program
has Python's own thresholds of the garbage collector unless it sets others, as a worker does. The
waiting runs have asked a person for approval and are held by one process.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator

from artificer.cli.declare import COLLECT_EVERY
from artificer.core.policy import Policy, Rule
from measure import Row, Spent, in_child, main, resident_mib
from worlds import opened, run, script_of

FEW = 100
BEGINNING = 50
"""Waiting runs that begin at the same time."""


async def together(runs: int, turns: int, collect_every: int = 0) -> list[float]:
    """Seconds on a processor for each turn, and when a tenth and half of the runs had ended, and
    all, by the wall."""
    if collect_every:
        gc.set_threshold(collect_every)
    async with opened() as world:
        ended: list[float] = []

        async def one() -> None:
            await run(world, script_of(turns))
            ended.append(time.perf_counter())

        start = Spent.now()
        await asyncio.gather(*(one() for _ in range(runs)))
        cpu = Spent.now().since(start).cpu
    moments = [moment - start.wall for moment in ended]
    return [cpu / runs / turns, moments[runs // 10], moments[runs // 2], moments[-1]]


async def waiting(runs: int) -> list[float]:
    """Seconds for each run to come to its question, KiB of memory for each, and threads."""
    policy = Policy(rules=(Rule(tool="add", decision="ask"),))
    async with opened() as world:
        await run(world, script_of(1), policy=policy)  # imports what all of them use
        slots = asyncio.Semaphore(BEGINNING)
        before, start = resident_mib(), Spent.now()

        async def one() -> object:
            async with slots:
                made = await run(world, script_of(1), policy=policy)
                assert made.state.pending[0].type == "AskApproval"
                return made

        kept = await asyncio.gather(*(one() for _ in range(runs)))
        cpu = Spent.now().since(start).cpu
        memory = (resident_mib() - before) * 1024 / len(kept)
        return [cpu / runs, memory, threading.active_count()]


def rows(runs: int = 1_000, turns: int = 5, waiting_runs: int = 2_000) -> Iterator[Row]:
    # Few runs are measured before and after: together they take as long as a tenth of the others.
    what = f"a turn in {runs:,} concurrent runs / in {FEW}"
    for more, collect_every in ((", as a worker collects garbage", COLLECT_EVERY), ("", 0)):
        before = in_child(together, FEW, turns, collect_every)
        many, tenth, half, last = in_child(together, runs, turns, collect_every)
        after = in_child(together, FEW, turns, collect_every)
        few = (before[0] + after[0]) / 2
        yield Row(what + more, "ms CPU", many * 1000, few * 1000, "≤ 1.1")
    yield Row(f"a tenth of {runs:,} runs is done / all are", "s wall", tenth, last, "early")
    yield Row(f"half of {runs:,} runs is done / all are", "s wall", half, last)
    begun, memory, threads = in_child(waiting, waiting_runs)
    what = f"one of {waiting_runs:,} runs that wait for an approval"
    yield Row(f"{what}: to its question", "ms CPU", begun * 1000)
    yield Row(f"{what}, in one process with {threads:.0f} threads", "KiB", memory)


if __name__ == "__main__":
    main(rows)
