"""Limits that all workers of a world share: of lanes, and of requests to models."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from subprocess import PIPE
from typing import NamedTuple

import pytest
from memory_assignments import MemoryAssignments
from postgres_server import PostgresServer

import preloaded
from artificer import Agent, Config, World
from artificer.config import SharedLimits
from artificer.dispatch.assigned import AssignedRuns
from artificer.dispatch.lanes import Lanes
from artificer.dispatch.local import LocalDispatcher
from artificer.ownership.local import LocalOwner
from artificer.ports import CANCEL, DispatchedRun, HasPermits, SharedLimit, StoragePlace
from artificer.runtime.limits.permits import PermitKeeper
from artificer.storage.memory.permits import MemoryPermits
from artificer.testing import ScriptedProvider
from artificer.testing.dispatcher_suite import ScriptedSegments, serving
from artificer.values.base import JsonObject
from artificer.wiring.storage_kinds import KINDS

pytestmark = [pytest.mark.xdist_group("servers")]

LEASE_S = 0.5
ONE = {"slow": (SharedLimit("lanes.slow.at_once", 1),)}

numbers = count()


class SharedWorld(NamedTuple):
    """A world that several processes have open, each with a folder."""

    url: str
    folders: tuple[Path, Path]
    lease_s: float
    """How long a dead process keeps its permits at most."""


@pytest.fixture(params=["postgres", "folder"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> SharedWorld:
    """In a folder, what a dead process held comes free before its lease ends."""
    if request.param == "folder":
        return SharedWorld("sqlite", (tmp_path, tmp_path), 3600.0)
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.url(f"lanes_{next(numbers)}")
    return SharedWorld(url, (tmp_path / "a", tmp_path / "b"), LEASE_S)


@asynccontextmanager
async def dispatcher_on(url: str, folder: Path) -> AsyncIterator[LocalDispatcher]:
    """The dispatcher of a worker with its own connections to the world."""
    kind = KINDS.get(url.partition(":")[0])
    assert kind is not None
    storage = await kind.open(StoragePlace(folder, url))
    assert storage is not None
    assert isinstance(storage, HasPermits)
    keeper = PermitKeeper(storage.permits, 3600.0)  # however slow this machine is
    yield LocalDispatcher(Lanes(ONE, keeper))
    await keeper.aclose()
    await storage.aclose()


@pytest.mark.req("workers-shared-limits")
async def test_two_workers_never_execute_two_runs_of_a_lane_of_one(world: SharedWorld) -> None:
    """All are executed in the end, and those of other lanes are not held up."""
    names = [f"r{number}" for number in range(8)]
    script = ScriptedSegments(held=["r0"])
    async with (
        dispatcher_on(world.url, world.folders[0]) as one,
        dispatcher_on(world.url, world.folders[1]) as other,
        serving(one, script, slots=3),
        serving(other, script, slots=3),
    ):
        await one.submit(DispatchedRun("r0", lane="slow"))
        await script.until("r0")
        for number, name in enumerate(names[1:]):
            await (one, other)[number % 2].submit(DispatchedRun(name, lane="slow"))
        await other.submit(DispatchedRun("quick"))
        await script.until("r0", "quick")
        assert {run for run, _ in script.executed} == {"r0", "quick"}
        await script.let_go("r0")
        await script.until(*names, "quick")
    assert script.peak <= 2  # one of the lane, and the other run
    assert sorted(run for run, _ in script.executed) == sorted([*names, "quick"])


@pytest.mark.req("workers-shared-limits")
async def test_the_room_of_a_killed_worker_comes_free(world: SharedWorld) -> None:
    script = ScriptedSegments()
    one, other = world.folders
    async with dispatcher_on(world.url, one) as dispatcher, serving(dispatcher, script):
        words = [world.url, str(other), "lanes.slow.at_once", str(world.lease_s)]
        holder = Path(__file__).with_name("permit_holder.py")
        process = await preloaded.start(str(holder), *words, stdout=PIPE)
        try:
            assert process.stdout is not None
            assert (await process.stdout.readline()).strip() == b"held"
            await dispatcher.submit(DispatchedRun("r", lane="slow"))
            await dispatcher.submit(DispatchedRun("quick"))
            await script.until("quick")
        finally:
            process.kill()
            await process.wait()
        await script.until("r")


@pytest.mark.req("workers-shared-limits")
async def test_a_full_lane_takes_no_slot_and_keeps_its_order() -> None:
    """A cancellation needs no room, and what is given back is taken at once."""
    keeper = PermitKeeper(MemoryPermits())
    elsewhere = await keeper.take(ONE["slow"])
    script = ScriptedSegments()
    dispatcher = LocalDispatcher(Lanes(ONE, keeper))
    async with serving(dispatcher, script, slots=1):
        for run in ("a", "b", "c"):
            await dispatcher.submit(DispatchedRun(run, lane="slow"))
        for run in ("x", "y"):
            await dispatcher.submit(DispatchedRun(run))
        await script.until("x", "y")
        await dispatcher.cancel("unknown", "enough")
        await script.until("unknown")
        assert [run for run, _ in script.executed] == ["x", "y", "unknown"]
        assert script.executed[2][1].startswith(CANCEL)
        keeper.give_back(elsewhere)  # type: ignore[arg-type]  # it was free
        await script.until("a", "b", "c")
    assert [run for run, _ in script.executed][3:] == ["a", "b", "c"]


@pytest.mark.req("workers-shared-limits", "dispatch-assigned")
async def test_a_run_that_another_worker_has_takes_no_room_in_its_lane() -> None:
    """Not of those that may begin within a time either: both workers find all runs."""
    limits = {"slow": (SharedLimit("lanes.slow.per_minute", 4, 3600.0),)}
    permits, assignments = MemoryPermits(), MemoryAssignments(lambda _: True)
    script, runs = ScriptedSegments(), [f"r{number}" for number in range(8)]
    async with AsyncExitStack() as stack:
        for _ in range(2):
            assigned = AssignedRuns(assignments, LocalOwner())
            dispatcher = LocalDispatcher(Lanes(limits, PermitKeeper(permits)), assigned=assigned)
            for run in runs:
                await dispatcher.submit(DispatchedRun(run, lane="slow"))
            await dispatcher.submit(DispatchedRun("quick"))
            await stack.enter_async_context(serving(dispatcher, script))
        async with asyncio.timeout(60):
            while len(began := {run for run, _ in script.executed} - {"quick"}) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert Counter(run for run, _ in script.executed) == dict.fromkeys([*began, "quick"], 1)
    assert len(began) == 4


@pytest.mark.req("shared-request-limits")
async def test_processes_send_no_more_requests_at_once_than_the_provider_takes(
    world: SharedWorld,
) -> None:
    """Opened twice, as two processes have it."""
    at_once = peak = 0

    async def answer(body: JsonObject) -> str:
        nonlocal at_once, peak
        at_once += 1
        peak = max(peak, at_once)
        for _ in range(20):
            await asyncio.sleep(0)
        at_once -= 1
        return "Done."

    limits = {"scripted": SharedLimits(at_once=1)}
    agent = Agent(ScriptedProvider(answer), kind="chat")
    async with AsyncExitStack() as stack:
        worlds = [
            await stack.enter_async_context(
                World.open(Config(home=home, project="p", storage=world.url, requests=limits))
            )
            for home in world.folders
        ]
        runs = await asyncio.gather(*(world.run("Hi", agent) for world in worlds for _ in range(3)))
    assert [run.status for run in runs] == ["completed"] * 6
    assert peak == 1
