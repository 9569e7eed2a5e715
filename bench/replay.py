"""What it costs to prove, load and resume a long run, and to keep many runs that wait for a person.

    python bench/replay.py [RECORDS] [WAITING]

The floor is `json.loads` and SHA-256 over the same records, in the same process: absolute figures
are the machine's, the ratios to it are ours. Nothing passes or fails here.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import artificer
from artificer.core.policy import Policy, Rule
from artificer.core.spec import Limits
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.runtime.snapshot import restore
from artificer.world import World

RECORDS, WAITING = 10_000, 10_000
ROUNDS = 5
RECORDS_A_TURN = 6


@artificer.tool(effect="pure")
async def look_up(key: str, n: int) -> str:
    """Look something up."""
    return f"{key} {n}: " + "what was found there, in a sentence or two. " * 4


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def against(
    floor: Callable[[], Awaitable[object]], work: Callable[[], Awaitable[object]]
) -> tuple[float, float]:
    """Seconds, and how often the floor's: medians of rounds in which both take their turn."""
    pairs = [(await timed(floor), await timed(work)) for _ in range(ROUNDS)]
    seconds = statistics.median(ours for _, ours in pairs)
    return seconds, statistics.median(ours / base for base, ours in pairs)


def config(folder: str) -> artificer.Config:
    return artificer.Config(home=Path(folder), project="bench", durability="process")


async def record(world: World, turns: int) -> str:
    """A run of so many turns, one call each."""
    script = [reply(call("look_up", key="a key of the usual length", n=n)) for n in range(turns)]
    run = await world.run(
        "Look things up, one after the other.",
        model=ScriptedProvider([*script, say("That is all.")]),
        tools=[look_up],
        limits=Limits(turns=turns + 1),
    )
    assert run.status == "completed", run.state.failure
    return run.id


async def long_run(records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with await World.open(config(folder)) as world:
            run = await record(world, records // RECORDS_A_TURN)
            storage = world._storage
            stored = await storage.journal.read(run)
            count, size = len(stored), sum(len(r.body) for r in stored)
            print(f"a run of {count:,} records, {size // count} bytes each")

            async def floor() -> None:
                for one in stored:
                    json.loads(one.body)
                    hashlib.sha256(one.body).hexdigest()

            async def whole() -> None:
                await load(storage.journal, storage.blobs, run)

            async def proof() -> None:
                found = await world.replay(run)
                assert found.identical and found.requests

            async def restored() -> None:
                found = await restore(storage.journal, storage.blobs, storage.snapshots, run)
                assert found.kept

            base = statistics.median([await timed(floor) for _ in range(ROUNDS)])
            print(f"  {'json.loads and sha256':26} {count / base:9,.0f} records/s")
            for name, work in (("load", whole), ("replay, requests included", proof)):
                seconds, ratio = await against(floor, work)
                print(f"  {name:26} {count / seconds:9,.0f} records/s {ratio:6.1f} x the floor")
            seconds, ratio = await against(floor, restored)
            kept = (await restore(storage.journal, storage.blobs, storage.snapshots, run)).lines
            print(
                f"  {'restore from a snapshot':26} {seconds * 1000:9.1f} ms        "
                f"{ratio:6.1f} x the floor, {len(kept)} records after it"
            )


async def waiting_runs(count: int) -> None:
    """Runs that wait for a person's answer, all of them held by one process."""
    policy = Policy(rules=(Rule(tool="look_up", decision="ask"),))
    with tempfile.TemporaryDirectory() as folder:
        async with await World.open(config(folder)) as world:
            before = memory()
            started = time.perf_counter()
            slots = asyncio.Semaphore(50)

            async def begin(n: int) -> artificer.Run:
                async with slots:
                    return await world.run(
                        f"Look up {n}.",
                        model=ScriptedProvider([reply(call("look_up", key="k", n=n))]),
                        tools=[look_up],
                        policy=policy,
                    )

            runs = await asyncio.gather(*(begin(n) for n in range(count)))
            seconds = time.perf_counter() - started
            assert all(run.state.pending[0].type == "AskApproval" for run in runs)
            rss = memory() - before
            print(f"{count:,} runs that wait for an approval, held in one process")
            print(f"  begun in {seconds:.1f} s, {count / seconds:,.0f} a second")
            print(f"  {rss / 2**20:.0f} MiB, {rss / count / 1024:.1f} KiB a run")
            print(f"  {threading.active_count()} threads, {len(asyncio.all_tasks())} task")
            some = runs[:: max(1, count // 200)]
            times = []
            for run in some:
                started = time.perf_counter()
                await load(world._storage.journal, world._storage.blobs, run.id)
                times.append(time.perf_counter() - started)
            print(f"  one of them is read in {statistics.median(times) * 1000:.1f} ms")


def memory() -> int:
    """Resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:]]
    # First, for what the other part has used would hide what a run takes.
    asyncio.run(waiting_runs(numbers[1] if len(numbers) > 1 else WAITING))
    asyncio.run(long_run(numbers[0] if numbers else RECORDS))


if __name__ == "__main__":
    main()
