"""A worker in a process of its own: URL, folder, file of effects. The token is in its environment.

Its tool writes a line and then waits, so that a test can kill the process in the middle of a call.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from pathlib import Path

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.dispatch.over_http import HttpWorker
from artificer.providers.scripted import ScriptedProvider, call, reply
from artificer.storage.remote.serving import LeaseTimes
from artificer.world import World


async def main(url: str, home: str, effects: str) -> None:
    """Serve until SIGTERM."""

    @tool(effect="once")
    def launch(target: str) -> str:
        """Launch something."""
        with Path(effects).open("a", encoding="utf-8") as file:
            file.write(f"{target}\n")
        threading.Event().wait()
        return target

    agent = Agent(ScriptedProvider([reply(call("launch", target="moon"))]), tools=[launch])
    async with World.open(Config(home=Path(home), storage=url)) as world:
        worker = HttpWorker(world, {"here:agent": agent}, LeaseTimes(lease_s=600, wait_s=1))
        task = asyncio.create_task(worker.run(1, 0))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await asyncio.gather(task, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
