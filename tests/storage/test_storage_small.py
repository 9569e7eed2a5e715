"""Small blobs are committed with the records that cite them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from artificer.errors import Fenced, NotFoundError, TamperedError
from artificer.ports import Head
from artificer.storage.blobs import MemoryStore
from artificer.storage.blobs.joined import LARGEST, JoinedStore
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after
from artificer.values.canon import digest_of

pytestmark = pytest.mark.req("blobs-joined")

BLOB = b"what the record cites"


async def test_the_twins_show_what_was_appended_and_nothing_of_a_fenced_append(
    tmp_path: Path,
) -> None:
    async with SqliteJournal(tmp_path / "journal.db") as on_disk:
        for journal in (MemoryJournal(), on_disk):
            lease = await journal.acquire("a")
            records = records_after(Head(), "a", 1)
            stale = lease.epoch - 1
            with pytest.raises(Fenced):
                await journal.append("a", stale, Head(), records, [BLOB])
            assert journal.small.find(digest_of(BLOB)) is None
            await journal.append("a", lease.epoch, Head(), records, [BLOB, BLOB, b""])
            store = JoinedStore(journal.small, MemoryStore())
            assert store.get(digest_of(BLOB)) == BLOB
            assert set(store.digests()) == {digest_of(BLOB), digest_of(b"")}


async def test_a_journal_from_before_small_blobs_gets_their_table(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with SqliteJournal(path) as journal:
        await journal.acquire("a")
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE blobs")
    async with SqliteJournal(path) as journal:
        lease = await journal.acquire("a")
        await journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1), [BLOB])
        assert journal.small.find(digest_of(BLOB)) == BLOB
        assert await journal.audit() == []


async def test_a_changed_blob_is_not_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with SqliteJournal(path) as journal:
        lease = await journal.acquire("a")
        await journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1), [BLOB])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE blobs SET data = ?", (b"other bytes",))
    async with SqliteJournal(path) as journal:
        store = JoinedStore(journal.small, MemoryStore())
        with pytest.raises(TamperedError, match="other bytes"):
            store.get(digest_of(BLOB))
        with pytest.raises(NotFoundError):
            store.get(digest_of(b"never stored"))


def test_only_short_blobs_are_joined() -> None:
    store = JoinedStore(MemoryJournal().small, MemoryStore())
    assert store.joins(b"x" * LARGEST)
    assert not store.joins(b"x" * (LARGEST + 1))
