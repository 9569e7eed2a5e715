"""A run whose two children wait for approvals: python waiting_family.py HOME LEDGER KILL

The first process begins it; each later one approves the questions, or continues it. With a positive
KILL the process kills itself with SIGKILL after as many appends to any journal. Each payment adds a
line to LEDGER.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from artificer import Agent, Policy, Rule, World, tool
from artificer.runtime.listing.runs import exists

sys.path.insert(0, str(Path(__file__).parents[1]))

from killed_family import family_of, killing_world


def family(ledger: Path) -> Agent:
    @tool(effect="idempotent", resources=[])
    async def pay(to: str) -> str:
        """Pay."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"{to}\n")
        return f"paid {to}"

    return family_of(pay, Policy(rules=(Rule(decision="ask", tool="pay"),)))


async def go_on(home: Path, ledger: Path, kill: int) -> str:
    """Begin the run, or continue it, and return its status."""
    agent = family(ledger)
    async with World(await killing_world(home, kill)) as world:
        if not await exists(world.storage.journal, "r"):
            return (await world.run("Pay.", agent, run_id="r")).status
        if (await world.get("r")).questions:
            return (await agent.approve("r", world=world)).status
        return (await world.resume("r", agent)).status


if __name__ == "__main__":
    print(asyncio.run(go_on(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
