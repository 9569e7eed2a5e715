"""A worker of a run that calls two agents: python dispatched_family.py HOME LEDGER KILL HOW

It works until nothing goes on by itself. With a positive KILL it kills itself with SIGKILL after
as many appends to any journal. Each payment adds a line to LEDGER. HOW is ``pays``, or
``cancelled``: then no payment comes to its end, and the run is cancelled during both.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from artificer import Agent, Cancel, World, tool
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.sweeper import SweepTimes
from artificer.dispatch.worker import Worker, WorkerOptions

sys.path.insert(0, str(Path(__file__).parents[1]))

from killed_family import NAMES, family_of, killing_world

NAME = "family:agent"


def paid_by(ledger: Path) -> set[str]:
    return set(ledger.read_text(encoding="utf-8").split())


def family(ledger: Path, how: str, all_paid: asyncio.Event | None = None) -> Agent:
    @tool(effect="once" if how == "pays" else "idempotent", resources=[])
    async def pay(to: str) -> str:
        """Pay."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"{to}\n")
        if how == "cancelled":
            if all_paid is not None and paid_by(ledger) == set(NAMES):
                all_paid.set()
            await asyncio.Event().wait()
        return f"paid {to}"

    return family_of(pay)


async def work(home: Path, ledger: Path, kill: int, how: str) -> None:
    """Execute the runs of the world."""
    paid = asyncio.Event()
    times = SweepTimes(new_s=0.01, lost_s=0.05, all_s=0.05)
    async with World(await killing_world(home, kill)) as world:
        options = WorkerOptions(slots=2, until_idle=True, sweep=times)
        agents = {NAME: family(ledger, how, paid)}
        worker = asyncio.create_task(Worker(world, LocalDispatcher(), agents, options).run())
        if how == "cancelled":
            waiting = asyncio.create_task(paid.wait())
            await asyncio.wait((worker, waiting), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.cancel() and (await world.get("r")).state.status is None:
                await world.send("r", Cancel(reason="Enough."))
        await worker


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
