"""Worker processes that are killed, frozen and continued, and their server that is restarted.

Whatever happens, each run is finished in the end, and no charge is made twice: one that may have
been made when its worker died is ambiguous.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL

import pytest
from postgres_server import PostgresServer
from temporal_server import TemporalServer

import preloaded
from artificer import Agent, Config, World, tool
from artificer.testing import ScriptedProvider
from artificer.values.blocks import ToolResultBlock

WITHIN_S = 240
"""Seconds after which something that has to happen has not. Nothing waits for it to pass."""

ORDERS = ("o1", "o2", "o3", "o4")


@tool(effect="once")
async def charge(order: str) -> str:
    """Charge an order."""
    raise NotImplementedError("the workers have another one")


class Workers:
    """A world in a folder, and processes that work in it."""

    def __init__(self, folder: Path, dispatcher: str, storage: str = "sqlite") -> None:
        self._folder = folder
        self._dispatcher = dispatcher
        self._stack = AsyncExitStack()
        self.config = Config(home=folder / "home", project="test", storage=storage)
        (folder / "hold").touch()
        shutil.copy(Path(__file__).parent / "orders.py", folder / "orders.py")

    async def start(self, slots: int = 2) -> asyncio.subprocess.Process:
        """Start a worker, which is killed in the end."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        home = {"ARTIFICER_HOME": str(self.config.home), "ARTIFICER_PROJECT": "test"}
        home["ARTIFICER_LEASE_SECONDS"] = "3600"  # nobody waits for its end
        words = ["--agent", "orders:agent", "--dispatcher", self._dispatcher]
        words += ["--world", self.config.storage]
        log = (self._folder / "log").open("ab")
        self._stack.callback(log.close)
        process = await preloaded.start(
            "-m",
            "artificer",
            "worker",
            *words,
            f"--slots={slots}",
            cwd=self._folder,
            env={**kept, **home},
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=log,
        )
        self._stack.push_async_callback(end, process)
        return process

    def let_go(self) -> None:
        """Let charges end."""
        (self._folder / "hold").unlink()

    def charged(self) -> list[str]:
        """The charges that were made, in order."""
        ledger = self._folder / "ledger"
        return ledger.read_text().split() if ledger.exists() else []

    async def until_charged(self, count: int) -> None:
        """Wait until so many charges were made."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                if len(self.charged()) >= count:
                    return
                await asyncio.sleep(0.05)

    async def aclose(self) -> None:
        await self._stack.aclose()


async def end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


@asynccontextmanager
async def workers_on(
    folder: Path, dispatcher: str, storage: str = "sqlite"
) -> AsyncIterator[Workers]:
    workers = Workers(folder, dispatcher, storage)
    try:
        yield workers
    finally:
        await workers.aclose()


async def submitted(world: World) -> list[str]:
    agent = Agent(ScriptedProvider([]), kind="chat", tools=[charge])
    return [
        await world.submit(f"Please charge order {order}.", agent, name="orders:agent")
        for order in ORDERS
    ]


async def finished(world: World, runs: list[str]) -> list[str]:
    """Wait until the runs are over, and return how each of their charges ended."""
    statuses = list[str]()
    async with asyncio.timeout(WITHIN_S):
        for run in runs:
            while True:
                found = await world.get(run)
                if found.state.status is not None:
                    break
                await asyncio.sleep(0.1)
            assert found.status == "completed"
            blocks = [block for message in found.messages for block in message.blocks]
            (result,) = [block for block in blocks if isinstance(block, ToolResultBlock)]
            statuses.append(result.status)
    return statuses


def address(kind: str, server: TemporalServer) -> str:
    if kind == "local":
        return "local"
    return f"temporal://{server.address}/default?beat=2&queue=test-{secrets.token_hex(6)}"


@pytest.mark.req("workers-crash")
@pytest.mark.xdist_group("temporal")
@pytest.mark.parametrize("kind", ["local", "temporal"])
async def test_what_a_killed_worker_had_under_way_is_ambiguous_and_all_else_is_done(
    kind: str, tmp_path: Path, server: TemporalServer
) -> None:
    async with (
        workers_on(tmp_path, address(kind, server)) as workers,
        World.open(workers.config) as world,
    ):
        first = await workers.start()
        runs = await submitted(world)
        await workers.until_charged(2)
        first.send_signal(signal.SIGKILL)
        await first.wait()
        if kind == "temporal":  # the server too
            server.stop()
            assert server.start()
        workers.let_go()
        await workers.start()
        statuses = await finished(world, runs)
        assert sorted(workers.charged()) == sorted(ORDERS)
        assert sorted(statuses) == ["ambiguous", "ambiguous", "ok", "ok"]


@pytest.mark.req("workers-crash")
@pytest.mark.xdist_group("temporal")
@pytest.mark.parametrize("kind", ["local", "temporal"])
async def test_a_frozen_worker_goes_on_without_repeating_anything(
    kind: str, tmp_path: Path, server: TemporalServer
) -> None:
    async with (
        workers_on(tmp_path, address(kind, server)) as workers,
        World.open(workers.config) as world,
    ):
        first = await workers.start()
        runs = await submitted(world)
        await workers.until_charged(2)
        first.send_signal(signal.SIGSTOP)
        workers.let_go()
        await workers.start()
        await workers.until_charged(4)  # the other one does what nobody owns
        first.send_signal(signal.SIGCONT)
        statuses = await finished(world, runs)
        assert sorted(workers.charged()) == sorted(ORDERS)
        assert set(statuses) <= {"ok", "ambiguous"}


@pytest.mark.req("workers-crash")
@pytest.mark.xdist_group("servers")
async def test_workers_share_a_world_in_postgresql(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    storage = postgres_server.url(f"workers_{secrets.token_hex(6)}")
    async with (
        workers_on(tmp_path, "local", storage) as workers,
        World.open(workers.config) as world,
    ):
        first = await workers.start()
        runs = await submitted(world)
        await workers.until_charged(2)
        first.send_signal(signal.SIGKILL)
        await first.wait()
        workers.let_go()
        await workers.start()
        await workers.start()
        statuses = await finished(world, runs)
        assert sorted(workers.charged()) == sorted(ORDERS)
        assert sorted(statuses) == ["ambiguous", "ambiguous", "ok", "ok"]
