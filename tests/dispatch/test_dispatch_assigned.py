"""Which of several workers of a world begins a run that all of them find."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio
from memory_assignments import MemoryAssignments
from postgres_server import PostgresServer

from artificer.dispatch.assigned import AssignedRuns
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.segments import REFUSED_S
from artificer.errors import OperatorError
from artificer.ownership.local import LocalOwner
from artificer.ports import (
    Assigned,
    Assignments,
    DispatchedRun,
    LeasedOwner,
    OwnerHost,
    Parked,
    RunOver,
    StoragePlace,
)
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.owner_leases import PostgresOwnerLeases
from artificer.storage.postgres.storage import PostgresStorage
from artificer.testing.assignments_suite import AssignmentsSuite, Die
from artificer.testing.dispatcher_suite import DispatcherSuite, ScriptedSegments, serving

OWNERS = ("one", "two", "three")

worlds = count()


@pytest.mark.req("dispatch-assigned")
class TestMemoryAssignments(AssignmentsSuite):
    @pytest.fixture
    def living(self) -> set[str]:
        return set(OWNERS)

    @pytest.fixture
    def assignments(self, living: set[str]) -> MemoryAssignments:
        return MemoryAssignments(living.__contains__)

    @pytest.fixture
    def die(self, living: set[str]) -> Die:
        return living.remove


@pytest.mark.xdist_group("servers")
@pytest.mark.req("dispatch-assigned")
class TestPostgresAssignments(AssignmentsSuite):
    @pytest.fixture
    def url(self, postgres_server: PostgresServer) -> str:
        return postgres_server.url(f"assigned_{next(worlds)}")

    @pytest_asyncio.fixture
    async def assignments(self, url: str, tmp_path: Path) -> AsyncIterator[Assignments]:
        storage = await POSTGRES.open(StoragePlace(tmp_path, url))
        assert isinstance(storage, PostgresStorage)
        leases = PostgresOwnerLeases(Database.parse(url, "power", read_only=False))
        for owner in OWNERS:
            leases.renew(LeasedOwner(owner, OwnerHost("m", "b", "n"), "a process"), 600)
        leases.close()
        yield storage.assignments
        await storage.aclose()

    @pytest.fixture
    def die(self, url: str) -> Iterator[Die]:
        with Database.parse(url, "power", read_only=False).connect() as db:
            end = "UPDATE owners SET until = clock_timestamp() - interval '1s' WHERE owner = %s"
            yield lambda owner: db.execute(end.encode(), (owner,)) and None


@pytest.mark.req("dispatch-port", "dispatch-assigned")
class TestAssignedDispatcher(DispatcherSuite):
    @pytest_asyncio.fixture
    async def dispatcher(self) -> AsyncIterator[LocalDispatcher]:
        yield LocalDispatcher(
            assigned=AssignedRuns(MemoryAssignments(lambda _: True), LocalOwner())
        )


class Group:
    """Dispatchers of one world, each as if in a process of its own."""

    def __init__(self, many: int) -> None:
        owners = [LocalOwner() for _ in range(many)]
        self.living = {owner.id for owner in owners}
        self.assignments = MemoryAssignments(self.living.__contains__)
        self.assigned = [AssignedRuns(self.assignments, owner) for owner in owners]
        self.dispatchers = [LocalDispatcher(assigned=assigned) for assigned in self.assigned]

    async def submit(self, *runs: str) -> None:
        """Submit runs to all of them, as their sweepers do."""
        for dispatcher in self.dispatchers:
            for run in runs:
                await dispatcher.submit(DispatchedRun(run))

    async def sweep(self, number: int) -> None:
        """Have what is lost executed by one of them, as its sweeper does."""
        for run in await self.assigned[number].lost():
            await self.dispatchers[number].submit(DispatchedRun(run))
            await self.dispatchers[number].wake(run, "lost")


@pytest.mark.req("dispatch-assigned")
async def test_each_run_is_begun_by_one_of_the_workers_that_find_it() -> None:
    group, runs, script = Group(3), [f"r{number:02}" for number in range(50)], ScriptedSegments()
    async with AsyncExitStack() as stack:
        await group.submit(*runs)
        for dispatcher in group.dispatchers:
            await stack.enter_async_context(serving(dispatcher, script))
        await script.until(*runs)
        await group.submit(*runs, "last")  # by sweeps that come late
        await script.until("last")
    assert Counter(run for run, _ in script.executed) == dict.fromkeys([*runs, "last"], 1)


@pytest.mark.req("dispatch-assigned")
async def test_what_a_stopping_worker_leaves_and_a_refused_run_go_on_elsewhere() -> None:
    group = Group(2)
    held = ScriptedSegments(held=["held"], refused=[Parked(REFUSED_S, refused=True)])
    other = ScriptedSegments()
    first, second = group.dispatchers
    async with serving(first, held):
        await first.submit(DispatchedRun("refused"))
        await first.submit(DispatchedRun("held"))
        await held.until("refused", "held")
        async with serving(second, other):
            await group.submit("held", "refused")
            await second.submit(DispatchedRun("another"))
            await other.until("another")
            await group.sweep(1)
            await other.until("refused")
            assert ("held", "submitted") not in other.executed
    async with serving(second, other):
        await group.sweep(1)
        assert ("held", "lost") in await other.until("held")
    assert held.cancelled == ["held"]


class Away(MemoryAssignments):
    """Assignments that cannot be reached at first."""

    tries = 0

    async def take(self, run: str, owner: str, *, again: bool) -> Assigned:
        """Refuse the first time."""
        self.tries += 1
        if self.tries == 1:
            raise OperatorError("The database cannot be reached.")
        return await super().take(run, owner, again=again)


@pytest.mark.req("dispatch-assigned")
async def test_without_an_answer_a_run_is_not_begun_but_tried_again() -> None:
    script = ScriptedSegments()
    assigned = AssignedRuns(Away(lambda _: True), LocalOwner())
    assert isinstance(await assigned.execute(script.execute, "r", "submitted"), Parked)
    assert script.executed == []
    assert isinstance(await assigned.execute(script.execute, "r", "timer"), RunOver)


@pytest.mark.req("dispatch-assigned")
async def test_one_of_the_workers_looks_at_all_runs() -> None:
    """When it dies another one does. Nobody gets that as a run."""
    group = Group(3)
    assert [await one.leads() for one in group.assigned] == ["first", "no", "no"]
    assert await group.assigned[0].leads() == "yes"
    group.living.clear()
    assert await group.assigned[2].lost() == []
    assert await group.assigned[2].leads() == "yes"


class Named(LocalOwner):
    """An owner with a name that a test gives it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._id = name


@pytest.mark.req("dispatch-assigned", "dispatch-temporal")
async def test_one_of_those_who_find_a_new_run_hands_it_to_a_server() -> None:
    """Also after the run is over; where that one cannot reach the server, another one does."""
    assignments = MemoryAssignments(set(OWNERS).__contains__)
    handed = list[str]()

    def by(name: str) -> Callable[[str], Awaitable[None]]:
        assigned = AssignedRuns(assignments, Named(name))

        async def hand() -> None:
            if name == "three":
                raise OperatorError("The server does not answer.")
            handed.append(name)

        return lambda run: assigned.hand_over(run, hand)

    one, two, three = map(by, OWNERS)
    for each in (one, two, one, three):
        await each("a")
    assert handed == ["one"]
    with pytest.raises(OperatorError):
        await three("b")
    await two("b")
    await one("b")
    assert handed == ["one", "two"]
    assert await assignments.take("c", "dead", again=False) == "first"
    await two("c")  # the one that began to hand it over has died
    assert handed == ["one", "two", "two"]
