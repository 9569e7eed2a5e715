"""Conformance tests for storages that chain their world, to run with your own.

Subclass `WorldChainSuite` in a test module and give it a pytest fixture ``storage``, as for
`StorageSuite`. Its journal is to be `Ordered`, `Auditable`, `Signalled` and `Prunable`
(`artificer.ports`). The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from artificer.errors import Fenced, NotFoundError
from artificer.ports import (
    Amount,
    Auditable,
    Head,
    Ordered,
    Prunable,
    Reservation,
    Settlement,
    Signalled,
    SpendingLimit,
    Storage,
)
from artificer.testing.records import records_after, refusal, tombstone_after
from artificer.values.canon import digest_of


class WorldChainSuite:
    """The behavior of a journal that chains its world, with a fixture ``storage``."""

    async def test_everything_has_the_next_position(self, storage: Storage) -> None:
        """Records, signals, budgets and versions have positions and their own world hashes."""
        journal = _ordered(storage)
        assert await journal.position() == 0
        positions = []
        for write in _writes(storage):
            await write()
            positions.append(await journal.position())
        assert positions == [2, 3, 4, 5, 6, 7, 8]
        worlds = [await journal.world_at(position) for position in range(1, 9)]
        assert None not in worlds and len(set(worlds)) == 8
        assert await journal.world_at(9) is None
        tip = await journal.tip()
        assert (tip.position, tip.world) == (8, worlds[-1])

    async def test_records_are_in_the_order_of_the_world(self, storage: Storage) -> None:
        """They cover all runs, in pages of any size; notes have positions but are not listed."""
        journal = _ordered(storage)
        for write in _writes(storage):
            await write()
        assert await journal.position() == 8
        found = await journal.placed(0, 8)
        assert [(one.position, one.record.run, one.record.seq) for one in found] == [
            (1, "b", 1),
            (2, "b", 2),
            (4, "a", 1),
            (6, "b", 3),
        ]
        for one in found:
            assert await journal.world_at(one.position) == one.world
            assert one.record in await storage.journal.read(one.record.run)
        for middle in range(9):
            pages = [*await journal.placed(0, middle), *await journal.placed(middle, 8)]
            assert pages == found

    async def test_a_world_that_nobody_touched_is_sound(self, storage: Storage) -> None:
        """An untouched world passes the audit, and a run's hashes are those of its records."""
        journal = _ordered(storage)
        for write in _writes(storage):
            await write()
        assert await journal.audit() == []
        records = await storage.journal.read("b")
        assert await journal.hashes("b") == [record.hash for record in records]
        assert await journal.hashes("nobody") == []

    async def test_a_run_that_was_imported_counts_on(self, storage: Storage) -> None:
        """Its signals were handled elsewhere, so the next signal gets the next number."""
        journal: Any = storage.journal
        assert isinstance(journal, Signalled), "the journal is not Signalled"
        records = records_after(Head(), "a", 1, 2)
        head = Head(seq=2, hash=records[-1].hash)
        assert await journal.unsigned("a") == 0
        lease = await storage.journal.acquire("a")
        await journal.note_import("a", head, 3)
        await storage.journal.append("a", lease.epoch, Head(), records)
        assert await storage.signals.post("a", b"more") == 4
        assert await journal.signals.read("a") == [(4, b"more")]
        assert (await journal.unsigned("a"), await journal.unsigned("b")) == (2, 0)
        assert await _ordered(storage).audit() == []

    async def test_contents_can_be_erased(self, storage: Storage) -> None:
        """Hashes and positions stay, and a process that lost the run can erase nothing.

        They count as pruned if the run's last record says so.
        """
        journal: Any = storage.journal
        assert isinstance(journal, Prunable), "the journal is not Prunable"
        lease = await storage.journal.acquire("a")
        records = records_after(Head(), "a", 1, 2)
        head = await storage.journal.append("a", lease.epoch, Head(), records)
        records.append(tombstone_after(head, "a", 2))
        await storage.journal.append("a", lease.epoch, head, records[2:])
        await storage.signals.post("a", b"a secret")
        stale, lease = lease, await storage.journal.acquire("a")
        for run, epoch in (("a", stale.epoch), ("unknown", 1)):
            assert isinstance(await refusal(journal.erase(run, epoch, 2)), Fenced)
        assert await storage.journal.read("a") == records
        await journal.erase("a", lease.epoch, 2)
        assert isinstance(await refusal(storage.journal.read("a")), NotFoundError)
        ordered = _ordered(storage)
        erased = await ordered.placed(0, await ordered.position())
        assert [one.record.body for one in erased] == [b"", b"", records[2].body]
        assert await ordered.hashes("a") == [record.hash for record in records]

    async def test_blobs_are_removed_where_nothing_was_added_since(self, storage: Storage) -> None:
        """A blob stays if records were added meanwhile, because they may refer to it."""
        journal: Any = storage.journal
        assert isinstance(journal, Prunable), "the journal is not Prunable"
        lease = await storage.journal.acquire("a")
        records = records_after(Head(), "a", 1)
        digest = digest_of(b"small")
        await storage.journal.append("a", lease.epoch, Head(), records, [b"small"])
        assert digest in set(journal.small.digests()) and journal.small.find(digest) == b"small"
        at = await journal.position()
        assert not await journal.forget([digest], at - 1)
        assert storage.blobs.has(digest)
        assert await journal.forget([digest], at)
        assert not storage.blobs.has(digest)


def _ordered(storage: Storage) -> Any:
    journal: object = storage.journal
    assert isinstance(journal, Ordered), "the journal is not Ordered"
    assert isinstance(journal, Auditable), "the journal is not Auditable"
    return journal


def _writes(storage: Storage) -> list[Callable[[], Awaitable[object]]]:
    """Return writes that fill a world in order: 8 positions, 4 of them records of two runs."""

    async def append(run: str, *payloads: int) -> None:
        lease = await storage.journal.acquire(run)
        records = records_after(lease.head, run, *payloads)
        await storage.journal.append(run, lease.epoch, lease.head, records)

    async def version() -> None:
        assert storage.versions.add("w", 1, digest_of(b"w"))

    amount = Amount(1, 10)
    reservation = Reservation("day", 7, amount, SpendingLimit(), 0, 1000)
    return [
        lambda: append("b", 1, 2),
        lambda: storage.signals.post("a", b"1"),
        lambda: append("a", 1),
        lambda: storage.budget.reserve([reservation]),
        lambda: append("b", 3),
        version,
        lambda: storage.budget.settle([Settlement("day", 7, amount)]),
    ]
