"""Conformance tests for durable storages, to run with your own kind.

Subclass `StorageKindSuite` in a test module and give it two pytest fixtures:

    class TestMine(StorageKindSuite):
        @pytest.fixture
        def kind(self):
            return KIND

        @pytest.fixture
        def place(self, tmp_path):  # a place without a world
            return StoragePlace(tmp_path / "home" / "project", "mine:///…", durability="process")

It opens the world of that place again and again, and twice at the same time, as processes do. A
storage that is gone with its process, as one in memory, does not pass. The tests are coroutines:
pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import structs

from artificer.errors import BudgetError, Fenced, OperatorError
from artificer.ports import (
    Amount,
    Claim,
    Correction,
    Head,
    Record,
    Reservation,
    Settlement,
    Spending,
    SpendingLimit,
    Spent,
    Storage,
    StorageKind,
    StoragePlace,
)
from artificer.testing.records import records_after
from artificer.values.canon import digest_of

ONE = digest_of(b"one")


class StorageKindSuite:
    """The behavior of the `StorageKind` port: fixtures ``kind`` and ``place``."""

    async def test_everything_is_there_when_it_is_opened_again(
        self, kind: StorageKind, place: StoragePlace
    ) -> None:
        """Records, blobs, signals, budgets, versions, epochs and owners survive reopening."""
        records = records_after(Head(), "a", *range(12))
        async with _opened(kind, place) as storage:
            lease = await storage.journal.acquire("a", Claim("me"))
            spending = Spending([Settlement("day", 0, Amount(3, 30))], [_reservation(1)])
            head = await storage.journal.append(
                "a", lease.epoch, Head(), records, [b"small"], spending
            )
            await storage.journal.acquire("empty")
            large = storage.blobs.put(b"large" * 100_000)
            await storage.signals.post("a", b"1")
            await storage.signals.post("a", b"2")
            assert storage.versions.add("w", 1, ONE)
        async with _opened(kind, place) as storage:
            assert await storage.journal.read("a") == records
            assert [(row.run, row.head) for row in await storage.journal.runs()] == [
                ("a", head),
                ("empty", Head()),
            ]
            assert storage.blobs.get(large) == b"large" * 100_000
            assert await storage.signals.read("a") == [(1, b"1"), (2, b"2")]
            assert await storage.signals.post("a", b"3") == 3
            assert await storage.budget.spent("day", 0) == Spent(Amount(3, 30), Amount(10, 100))
            assert storage.versions.head("w") == (1, ONE)
            owners: list[str | None] = []
            again = await storage.journal.acquire("a", Claim("you", head, owners.append))
            assert owners == ["me"]
            assert (again.epoch > lease.epoch, again.head) == (True, head)

    async def test_a_correction_lasts(self, kind: StorageKind, place: StoragePlace) -> None:
        """A total that a person corrected stays corrected."""
        correction = Correction(tokens=7, micros=8, by="anna", reason="A wrong report.", at=5)
        async with _opened(kind, place) as storage:
            await storage.budget.correct("day", correction)
        async with _opened(kind, place) as storage:
            assert (await storage.budget.spent("day", 0)).settled == Amount(7, 8)

    async def test_two_processes_share_the_fence(
        self, kind: StorageKind, place: StoragePlace
    ) -> None:
        """Only the last process to acquire a run may append, whatever others remember."""
        async with _two(kind, place) as (one, two):
            stale = await one.journal.acquire("a")
            first = records_after(Head(), "a", 1)
            head = await one.journal.append("a", stale.epoch, Head(), first)
            fresh = await two.journal.acquire("a")
            assert (fresh.epoch > stale.epoch, fresh.head) == (True, head)
            late = records_after(head, "a", "late")
            assert await _is_fenced(one, "a", stale.epoch, head, late)
            second = records_after(head, "a", 2)
            head = await two.journal.append("a", fresh.epoch, head, second)
            assert await _is_fenced(one, "a", fresh.epoch, Head(seq=1, hash=first[0].hash), second)
            for storage in (one, two):
                assert await storage.journal.read("a") == [*first, *second]
                assert [row.head for row in await storage.journal.runs()] == [head]

    async def test_of_two_processes_that_append_at_once_one_wins(
        self, kind: StorageKind, place: StoragePlace
    ) -> None:
        """Comparing the head and writing are one step across processes."""
        async with _two(kind, place) as both:
            lease = await both[0].journal.acquire("a")
            rivals = [records_after(Head(), "a", f"rival {n}") for n in range(10)]
            fenced = await asyncio.gather(
                *(
                    _is_fenced(both[n % 2], "a", lease.epoch, Head(), rival)
                    for n, rival in enumerate(rivals)
                )
            )
            assert fenced.count(False) == 1
            assert await both[1].journal.read("a") == rivals[fenced.index(False)]

    async def test_two_processes_share_signals_budgets_and_versions(
        self, kind: StorageKind, place: StoragePlace
    ) -> None:
        """Each sees at once what the other writes, and continues from its number."""
        async with _two(kind, place) as (one, two):
            start, _ = await two.signals.since(None)
            numbers = [await storage.signals.post("a", b"") for storage in (one, two, one)]
            assert numbers == [1, 2, 3]
            assert (await two.signals.since(start))[1] == {"a"}
            granted = 0
            for number in range(1, 9):
                storage = (one, two)[number % 2]
                try:
                    await storage.budget.reserve([_reservation(number, 35)])
                    granted += 1
                except BudgetError:
                    pass
            assert granted == 3
            assert one.versions.add("w", 1, ONE) and not two.versions.add("w", 1, ONE)
            assert two.versions.add("w", 2, ONE) and one.versions.head("w") == (2, ONE)
            assert two.blobs.has(one.blobs.put(b"shared"))

    async def test_reading_makes_and_changes_nothing(
        self, kind: StorageKind, place: StoragePlace
    ) -> None:
        """Reading creates no world, and a write through a reader is refused."""
        reading = structs.replace(place, read_only=True)
        assert await kind.open(reading) is None
        assert await kind.open(reading) is None
        records = records_after(Head(), "a", 1)
        async with _opened(kind, place) as storage:
            lease = await storage.journal.acquire("a")
            head = await storage.journal.append("a", lease.epoch, Head(), records)
        async with _opened(kind, reading) as storage:
            assert await storage.journal.read("a") == records
            late = records_after(head, "a", 2)
            writes: tuple[Callable[[], Awaitable[object]], ...] = (
                lambda: storage.journal.acquire("a"),
                lambda: storage.journal.append("a", lease.epoch, head, late),
                lambda: storage.signals.post("a", b""),
                lambda: storage.budget.settle([Settlement("day", 0, Amount(1, 1))]),
            )
            for write in writes:
                try:
                    await write()
                except OperatorError:
                    continue
                raise AssertionError("A world that is only read was changed.")
        async with _opened(kind, place) as storage:
            assert [row.epoch for row in await storage.journal.runs()] == [lease.epoch]
            assert await storage.signals.read("a") == []


def _reservation(number: int, tokens: int | None = None) -> Reservation:
    return Reservation("day", number, Amount(10, 100), SpendingLimit(tokens), 0, 1000)


async def _is_fenced(
    storage: Storage, run: str, epoch: int, head: Head, records: list[Record]
) -> bool:
    try:
        await storage.journal.append(run, epoch, head, records)
    except Fenced:
        return True
    return False


@asynccontextmanager
async def _opened(kind: StorageKind, place: StoragePlace) -> AsyncIterator[Storage]:
    storage = await kind.open(place)
    assert storage is not None, "there is no world, and none was made"
    try:
        yield storage
    finally:
        await storage.aclose()


@asynccontextmanager
async def _two(kind: StorageKind, place: StoragePlace) -> AsyncIterator[tuple[Storage, Storage]]:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(_opened(kind, place))
        yield one, await stack.enter_async_context(_opened(kind, place))
