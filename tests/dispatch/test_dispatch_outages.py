"""Workers go on after the database was away, or has forgotten who has which run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from memory_assignments import MemoryAssignments

from artificer import Agent, Config, World
from artificer.core.signals import FollowUp
from artificer.dispatch.assigned import AssignedRuns
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.sweeper import Sweeper, SweepTimes
from artificer.errors import OperatorError
from artificer.ownership.local import LocalOwner
from artificer.ports import DispatchedRun, Record
from artificer.storage.memory import MemoryJournal
from artificer.storage.memory.storage import MemoryStorage
from artificer.studio.jobs.service import Jobs
from artificer.testing import ScriptedProvider
from artificer.testing.dispatcher_suite import WITHIN_S, ScriptedSegments, serving

OFTEN = SweepTimes(new_s=0.01, lost_s=0.01, all_s=0.05)


class AwayJournal(MemoryJournal):
    """A journal that cannot be read ``failures`` times."""

    failures = 0

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Read, or say that nobody answers."""
        if self.failures:
            self.failures -= 1
            raise OperatorError("The database cannot be reached.")
        return await super().read(run, after, limit)


class SharedStorage(MemoryStorage):
    """A storage that assigns runs to workers, as one that several machines share."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = AwayJournal()
        self.living = set[str]()
        self.assignments = MemoryAssignments(self.living.__contains__)


class Handed:
    """A dispatcher that keeps what it is told."""

    def __init__(self) -> None:
        self.submitted = Counter[str]()
        self.woken = Counter[str]()

    async def submit(self, wanted: DispatchedRun) -> None:
        self.submitted[wanted.run] += 1

    async def wake(self, run: str, cause: str) -> None:
        self.woken[run] += 1


@pytest.fixture
def storage() -> SharedStorage:
    return SharedStorage()


@pytest_asyncio.fixture
async def world(storage: SharedStorage, tmp_path: Path) -> AsyncIterator[World]:
    async with World.open(Config(home=tmp_path), storage) as opened:
        yield opened


def chat() -> Agent:
    return Agent(ScriptedProvider([]), kind="chat")


def worker(storage: SharedStorage) -> AssignedRuns:
    """The runs of another worker, which lives."""
    owner = LocalOwner()
    storage.living.add(owner.id)
    return AssignedRuns(storage.assignments, owner)


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def going_on(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let something go on meanwhile."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.req("dispatch-outages")
async def test_a_new_run_that_could_not_be_read_is_looked_at_again(
    world: World, storage: SharedStorage
) -> None:
    handed = Handed()
    sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
    await sweeper.look_at_new()
    run = await world.submit("Hi", chat())
    storage.journal.failures = 1
    await sweeper.look_at_new()
    assert not handed.submitted
    await sweeper.look_at_new()
    assert handed.submitted[run]


@pytest.mark.req("dispatch-outages")
async def test_a_signal_to_a_run_that_could_not_be_read_wakes_it_later(
    world: World, storage: SharedStorage
) -> None:
    handed = Handed()
    sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
    run = await world.submit("Hi", chat())
    await sweeper.look_at_new()
    await world.send(run, FollowUp(text="More"))
    storage.journal.failures = 1
    await sweeper.look_at_new()
    assert not handed.woken
    await sweeper.look_at_new()
    assert handed.woken == {run: 1}


@pytest.mark.req("dispatch-outages")
async def test_a_run_that_nobody_can_read_holds_no_other_one_up(
    world: World, storage: SharedStorage
) -> None:
    handed = Handed()
    sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
    await sweeper.look_at_new()
    runs = [await world.submit("Hi", chat()) for _ in range(3)]
    storage.journal.failures = 2
    await sweeper.look_at_new()
    assert len(handed.submitted) == 1
    await sweeper.look_at_new()
    assert set(handed.submitted) == set(runs)


@pytest.mark.req("dispatch-outages")
async def test_while_a_server_is_away_it_is_asked_less_and_less(
    world: World, storage: SharedStorage
) -> None:
    sweeper = Sweeper(world, Handed(), SweepTimes(3600, 3600, 3600))  # type: ignore[arg-type]
    await sweeper.look_at_new()
    await world.submit("Hi", chat())
    storage.journal.failures = 100
    for _ in range(10):
        await sweeper.look_at_new()
    assert storage.journal.failures == 98


@pytest.mark.req("dispatch-outages")
async def test_a_signal_to_a_run_that_was_just_over_has_it_executed_again(
    storage: SharedStorage,
) -> None:
    """The sweeper submits the run, which its dispatcher has forgotten, and wakes it."""
    script, dispatcher = ScriptedSegments(), LocalDispatcher(assigned=worker(storage))
    async with serving(dispatcher, script):
        await dispatcher.submit(DispatchedRun("r"))
        await script.until("r")
        await until(lambda: not dispatcher.counts())
        await dispatcher.submit(DispatchedRun("r"))
        await dispatcher.wake("r", "signal")
        assert await script.until("r", "r") == [("r", "submitted"), ("r", "signal")]


@pytest.mark.req("dispatch-outages")
async def test_runs_that_a_crash_of_the_database_has_forgotten_are_executed(
    world: World, storage: SharedStorage
) -> None:
    """Their worker died with it; the others knew them as another one's."""
    run, first = await world.submit("Hi", chat()), worker(storage)
    gone, script = ScriptedSegments(held=[run]), ScriptedSegments()
    second = worker(storage)
    one, other = LocalDispatcher(assigned=first), LocalDispatcher(assigned=second)
    async with serving(one, gone), serving(other, script):
        await one.submit(DispatchedRun(run))
        await gone.until(run)
        async with going_on(Sweeper(world, other, OFTEN, second).run()):
            await until(lambda: other.counts()["parked"])
            storage.living.discard(first.id)
            storage.assignments.forget()
            await script.until(run)


@pytest.mark.req("dispatch-outages")
async def test_who_hands_runs_out_over_http_takes_none_from_workers(
    world: World, storage: SharedStorage
) -> None:
    """It executes none: what dead workers had goes to a worker, and one of those looks at all."""
    await storage.assignments.take("r", "dead", again=False)
    jobs, another = Jobs(world), worker(storage)
    jobs.sweeping.begin()
    for number in (1, 2):  # when it finds the second one, it has looked for everything
        await world.submit("Hi", chat())
        await until(lambda: len(jobs.queue.page(None, None, 10)) == number)  # noqa: B023
    await jobs.aclose()
    assert (await another.leads(), await another.lost()) == ("first", ["r"])
