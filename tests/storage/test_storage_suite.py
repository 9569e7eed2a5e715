"""The suites of storage notice one that breaks a promise: each of these does one thing wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from artificer.errors import Fenced
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Claim,
    Head,
    Lease,
    Placed,
    Record,
    RunHead,
    Spending,
    Storage,
    StoragePlace,
)
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory.journal import MemoryJournal
from artificer.storage.memory.storage import MemoryStorage
from artificer.storage.sqlite.storage import SQLITE
from artificer.testing.signals_suite import SignalsSuite
from artificer.testing.storage_kind_suite import StorageKindSuite
from artificer.testing.storage_suite import StorageSuite
from artificer.testing.world_chain_suite import WorldChainSuite
from suite_faults import faults

pytestmark = pytest.mark.req("suite-storage")


class TestSqlite(StorageKindSuite):
    @pytest.fixture
    def kind(self) -> Any:
        return SQLITE

    @pytest.fixture
    def place(self, tmp_path: Path) -> StoragePlace:
        return StoragePlace(tmp_path / "project", durability="process")


class TestSqliteChain(WorldChainSuite):
    @pytest.fixture
    async def storage(self, tmp_path: Path) -> AsyncIterator[Storage]:
        storage = await SQLITE.open(StoragePlace(tmp_path / "project", durability="process"))
        assert storage is not None
        yield storage
        await storage.aclose()


class TestMemoryChain(WorldChainSuite):
    @pytest.fixture
    def storage(self) -> Storage:
        return MemoryStorage()


class Losing(MemoryJournal):
    """It keeps all records of a commit but the last one."""

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        found = await super().read(run, after, limit)
        return found[:-1] if len(found) > 2 else found


class AsTexts(MemoryJournal):
    """It sorts records by their numbers as texts."""

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        found = sorted(await super().read(run), key=lambda record: str(record.seq))
        return [record for record in found if record.seq > after][:limit]


class Viewing(MemoryJournal):
    """Its records are views of a buffer."""

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        found = await super().read(run, after, limit)
        return [structs.replace(record, body=memoryview(record.body)) for record in found]


class Unfenced(MemoryJournal):
    """It lets everybody append who knows the head."""

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        known = next((row.epoch for row in await self.runs() if row.run == run), epoch)
        return await super().append(run, known, head, records, blobs, spending)


class Headless(MemoryJournal):
    """It appends wherever the run ends, and so the same records twice."""

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        try:
            return await super().append(run, epoch, head, records, blobs, spending)
        except Fenced:
            if epoch not in {row.epoch for row in await self.runs() if row.run == run}:
                raise
            return head


class Resetting(MemoryJournal):
    """A run that was released begins with the first epoch again."""

    async def release(self, run: str, epoch: int) -> None:
        await super().release(run, epoch)
        if run in self._runs:
            self._runs[run] = structs.replace(self._runs[run], epoch=0)


class OneByOne(MemoryJournal):
    """It appends one record after the other, and waits for a lock before."""

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        for _ in range(3):
            await asyncio.sleep(0)
        head = await super().append(run, epoch, head, (), blobs, spending)
        for record in records:
            head = await super().append(run, epoch, head, [record])
            await asyncio.sleep(0)
        return head


class Charging(MemoryJournal):
    """It settles costs before it looks at the fence."""

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        await self.budget.settle(spending.settlements)
        return await super().append(
            run, epoch, head, records, blobs, structs.replace(spending, settlements=())
        )


class Trusting(MemoryJournal):
    """It gives a run to everybody, without a look at its owner."""

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        return await super().acquire(run, structs.replace(claim, admit=lambda _: None))


class Newest(MemoryJournal):
    """It lists the newest runs first."""

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        return (await super().runs(before, limit))[::-1]


class RunByRun(MemoryJournal):
    """Its order is that of the runs, and not of the world."""

    async def placed(self, after: int, upto: int) -> list[Placed]:
        return sorted(await super().placed(after, upto), key=lambda placed: placed.record.run)


class Emptied(MemoryJournal):
    """It erases the hashes along with the contents."""

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        await super().erase(run, epoch, upto)
        self._by_run[run] = self._by_run[run][upto:]


class Shredding(MemoryJournal):
    """It erases what another owner has."""

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        await super().erase(run, self._runs[run].epoch, upto)


class Hasty(MemoryJournal):
    """It removes blobs whatever was recorded meanwhile."""

    async def forget(self, digests: Iterable[str], at: int) -> bool:
        return await super().forget(digests, await self.position())


class Unnoted(MemoryJournal):
    """It does not note that signals were taken elsewhere."""

    async def note_import(self, run: str, head: Head, taken: int) -> None:
        pass


def storage_with(journal: type[MemoryJournal]) -> MemoryStorage:
    storage = MemoryStorage()
    storage.journal = journal()
    return storage


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (Losing, "test_what_was_appended_is_read"),
        (AsTexts, "test_many_records_are_in_the_order_of_their_numbers"),
        (Viewing, "test_many_records_are_in_the_order_of_their_numbers"),
        (Unfenced, "test_stale_epoch_is_fenced"),
        (Headless, "test_stale_head_is_fenced"),
        (Resetting, "test_epochs_rise_over_a_release"),
        (OneByOne, "test_cancelled_append_is_whole_or_absent"),
        (OneByOne, "test_broken_chains_are_refused"),
        (Charging, "test_a_stale_owner_spends_nothing"),
        (Trusting, "test_of_many_claims_on_one_head_one_is_met"),
        (Newest, "test_runs_are_listed_oldest_first"),
    ],
)
async def test_a_wrong_journal_is_noticed(wrong: type[MemoryJournal], noticed_by: str) -> None:
    found = await faults(
        StorageSuite, noticed_by, storage=lambda: storage_with(wrong), journal=wrong
    )
    assert found == {noticed_by}


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (RunByRun, "test_records_are_in_the_order_of_the_world"),
        (Emptied, "test_contents_can_be_erased"),
        (Shredding, "test_contents_can_be_erased"),
        (Hasty, "test_blobs_are_removed_where_nothing_was_added_since"),
        (Unnoted, "test_a_run_that_was_imported_counts_on"),
    ],
)
async def test_a_wrong_chain_is_noticed(wrong: type[MemoryJournal], noticed_by: str) -> None:
    def chained() -> MemoryStorage:
        storage = storage_with(wrong)
        storage.blobs = JoinedStore(storage.journal.small, MemoryStore())
        return storage

    assert await faults(WorldChainSuite, storage=chained) == {noticed_by}


async def test_signals_that_are_sorted_as_texts_are_noticed() -> None:
    class Sorted:
        def __init__(self) -> None:
            self.inner = MemoryStorage().signals
            self.post, self.since = self.inner.post, self.inner.since

        async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
            return sorted(await self.inner.read(run, after), key=lambda signal: str(signal[0]))

    assert await faults(SignalsSuite, signals=Sorted) == {
        "test_many_signals_are_in_the_order_of_their_numbers"
    }


class Kind:
    """Opens the built-in storage, with one thing wrong."""

    def __init__(self, broken: Callable[[Storage, StoragePlace], Awaitable[Storage | None]]):
        self._broken = broken

    async def open(self, place: StoragePlace) -> Storage | None:
        storage = await SQLITE.open(place)
        return storage and await self._broken(storage, place)


class Parts:
    """A storage that was taken apart, so that one part can be another."""

    def __init__(self, inner: Storage, **others: Any) -> None:
        for part in ("journal", "blobs", "signals", "budget", "versions", "snapshots"):
            setattr(self, part, others.get(part) or getattr(inner, part))
        self.aclose = inner.aclose


async def forgetting(storage: Storage, place: StoragePlace) -> Storage:
    """It keeps signals and versions in memory."""
    memory = MemoryStorage()
    return Parts(storage, signals=memory.signals, versions=memory.versions)  # type: ignore[return-value]


async def writing(storage: Storage, place: StoragePlace) -> Storage | None:
    """It makes a world that is only to be read, and writes into it."""
    await storage.aclose()
    return await SQLITE.open(structs.replace(place, read_only=False))


async def remembering(storage: Storage, place: StoragePlace) -> Storage:
    """It remembers its epochs, and does not see that another process took a run."""

    class Remembering:
        def __init__(self) -> None:
            self.epochs: dict[str, int] = {}
            journal: Any = storage.journal
            self.read, self.runs, self.release = journal.read, journal.runs, journal.release

        async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
            lease = await storage.journal.acquire(run, claim)
            self.epochs[run] = lease.epoch
            return lease

        async def append(
            self, run: str, epoch: int, head: Head, records: Sequence[Record], *rest: Any
        ) -> Head:
            if self.epochs.get(run) == epoch:
                rows = await storage.journal.runs()
                epoch = next(row.epoch for row in rows if row.run == run)
            return await storage.journal.append(run, epoch, head, records, *rest)

    return Parts(storage, journal=Remembering())  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (forgetting, "test_everything_is_there_when_it_is_opened_again"),
        (forgetting, "test_two_processes_share_signals_budgets_and_versions"),
        (remembering, "test_two_processes_share_the_fence"),
        (writing, "test_reading_makes_and_changes_nothing"),
    ],
)
async def test_a_wrong_kind_of_storage_is_noticed(
    wrong: Any, noticed_by: str, tmp_path: Path
) -> None:
    place = StoragePlace(tmp_path / "project", durability="process")
    found = await faults(
        StorageKindSuite, noticed_by, kind=lambda: Kind(wrong), place=lambda: place
    )
    assert found == {noticed_by}
