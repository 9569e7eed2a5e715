"""A worker over HTTP of a run that calls two agents: python http_family.py URL HOME LEDGER KILL

It kills itself with SIGKILL after KILL appends to any journal; the token is in its environment.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from dispatched_family import NAME, family

from artificer import World
from artificer.dispatch.over_http import HttpWorker
from artificer.storage.remote.serving import LeaseTimes
from killed_family import killing_world


async def work(url: str, home: Path, ledger: Path, kill: int) -> None:
    """Execute the runs of the world until it is killed."""
    async with World(await killing_world(home, kill, url)) as world:
        times = LeaseTimes(lease_s=600, wait_s=1, beat_s=0.1)
        await HttpWorker(world, {NAME: family(ledger, "pays")}, times).run(2, 0)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
