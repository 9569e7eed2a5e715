"""Conformance tests for storages, to run with your own.

Subclass `StorageSuite` in a test module and give it a pytest fixture ``storage`` that yields a
fresh, open one:

    class TestMine(StorageSuite):
        @pytest.fixture
        async def storage(self, tmp_path):
            storage = await KIND.open(StoragePlace(tmp_path))
            yield storage
            await storage.aclose()

It holds the suites of all parts. The tests are coroutines: pytest-asyncio runs them in its ``auto``
mode.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from artificer.errors import BudgetError, Fenced
from artificer.ports import (
    Amount,
    BlobStore,
    Budget,
    Head,
    Joined,
    Journal,
    RecordReader,
    Reservation,
    Settlement,
    Signals,
    Snapshots,
    Spending,
    SpendingLimit,
    Spent,
    Storage,
    Versions,
)
from artificer.testing.blob_suite import BlobSuite
from artificer.testing.budget_suite import BudgetSuite
from artificer.testing.journal_suite import JournalSuite
from artificer.testing.records import records_after
from artificer.testing.signals_suite import SignalsSuite
from artificer.testing.snapshots_suite import SnapshotsSuite
from artificer.testing.versions_suite import VersionsSuite
from artificer.values.canon import digest_of

TEN, LIMIT = Amount(10, 100), SpendingLimit(tokens=15)


def _reservation(number: int) -> Reservation:
    return Reservation("day", number, TEN, LIMIT, 0, 1000)


class StorageSuite(
    JournalSuite, BlobSuite, BudgetSuite, SignalsSuite, SnapshotsSuite, VersionsSuite
):
    """The behavior of the `Storage` port. Subclass it and give it a fixture ``storage``."""

    @pytest.fixture
    def journal(self, storage: Storage) -> Journal:
        """The records of the storage under test."""
        return storage.journal

    @pytest.fixture
    def store(self, storage: Storage) -> BlobStore:
        """The blobs of the storage under test."""
        return storage.blobs

    @pytest.fixture
    def budget(self, storage: Storage) -> Budget:
        """The accounts of the storage under test."""
        return storage.budget

    @pytest.fixture
    def signals(self, storage: Storage) -> Signals:
        """The signals of the storage under test."""
        return storage.signals

    @pytest.fixture
    def snapshots(self, storage: Storage) -> Snapshots:
        """The snapshots of the storage under test."""
        return storage.snapshots

    @pytest.fixture
    def versions(self, storage: Storage) -> Versions:
        """The versions of the storage under test."""
        return storage.versions

    async def test_an_append_reserves_and_settles(self, storage: Storage) -> None:
        """An intent's reservation and a reply's settlement are part of their commits."""
        journal = storage.journal
        lease = await journal.acquire("a")
        wanted = Spending(reservations=[_reservation(1)])
        first = records_after(Head(), "a", "intent")
        head = await journal.append("a", lease.epoch, Head(), first, (), wanted)
        assert await storage.budget.spent("day", 0) == Spent(Amount(), TEN)
        both = Spending([Settlement("day", 1, Amount(3, 30))], [_reservation(2)])
        second = records_after(head, "a", "reply and intent")
        await journal.append("a", lease.epoch, head, second, (), both)
        assert await storage.budget.spent("day", 0) == Spent(Amount(3, 30), TEN)

    async def test_an_append_that_a_budget_does_not_hold_appends_nothing(
        self, storage: Storage
    ) -> None:
        """It writes no records, blobs or settlements; the records can be appended later."""
        journal = storage.journal
        lease = await journal.acquire("a")
        records = records_after(Head(), "a", 1)
        spending = Spending(
            [Settlement("day", 0, Amount(1, 1))], [_reservation(1), _reservation(2)]
        )
        with pytest.raises(BudgetError):
            await journal.append("a", lease.epoch, Head(), records, [b"blob"], spending)
        assert await journal.read("a") == []
        assert not storage.blobs.has(digest_of(b"blob"))
        assert await storage.budget.spent("day", 0) == Spent(Amount(), Amount())
        assert await journal.append("a", lease.epoch, Head(), records) == Head(
            seq=1, hash=records[0].hash
        )

    async def test_a_stale_owner_spends_nothing(self, storage: Storage) -> None:
        """A fenced append leaves the budget as it is."""
        stale = await storage.journal.acquire("a")
        await storage.journal.acquire("a")
        spending = Spending([Settlement("day", 0, Amount(1, 1))], [_reservation(1)])
        with pytest.raises(Fenced):
            await storage.journal.append(
                "a", stale.epoch, Head(), records_after(Head(), "a", 1), (), spending
            )
        assert await storage.budget.spent("day", 0) == Spent(Amount(), Amount())

    async def test_blobs_that_are_appended_are_found(self, storage: Storage) -> None:
        """Small blobs stored with their records are found and listed like all others."""
        blobs = storage.blobs
        small, large = b"small", b"x" * 10_000_000
        joins = isinstance(blobs, Joined)
        assert not isinstance(blobs, Joined) or not blobs.joins(large)
        if not joins:
            return
        lease = await storage.journal.acquire("a")
        records = records_after(Head(), "a", digest_of(small))
        await storage.journal.append("a", lease.epoch, Head(), records, [small])
        assert blobs.get(digest_of(small)) == small
        assert digest_of(small) in set(blobs.digests())

    async def test_records_are_read_without_an_event_loop(self, storage: Storage) -> None:
        """A `RecordReader` reads them in a thread, and even after it is closed."""
        journal: Any = storage.journal
        if not isinstance(journal, RecordReader):
            return
        lease = await storage.journal.acquire("a")
        records = records_after(Head(), "a", 1, 2)
        await storage.journal.append("a", lease.epoch, Head(), records)
        assert journal.records("nobody") == []
        assert await asyncio.to_thread(journal.records, "a") == records
        await storage.aclose()
        assert journal.records("a") == records

    async def test_closing_twice_is_closing_once(self, storage: Storage) -> None:
        """Closing twice is safe, and nothing is lost."""
        await storage.aclose()
        await storage.aclose()
