"""Each storage, as one object, behaves as the port says; another kind comes by an entry point."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from artificer.config import Config
from artificer.errors import ConfigError
from artificer.ports import Head, Storage, StorageKind, StoragePlace
from artificer.storage.memory.storage import MEMORY, MemoryStorage
from artificer.storage.sqlite.storage import SQLITE, SqliteStorage
from artificer.testing.records import records_after
from artificer.testing.storage_suite import StorageSuite
from artificer.wiring.storage import open_storage, open_to_read
from artificer.wiring.storage_kinds import KINDS

pytestmark = pytest.mark.req("storage-port")


class TestMemoryStorage(StorageSuite):
    @pytest.fixture
    async def storage(self) -> AsyncIterator[Storage]:
        storage = MemoryStorage()
        yield storage
        assert await storage.journal.audit() == []


class TestSqliteStorage(StorageSuite):
    @pytest.fixture
    async def storage(self, tmp_path: Path) -> AsyncIterator[Storage]:
        place = StoragePlace(tmp_path, durability="process")
        storage = await SQLITE.open(place)
        assert storage is not None
        yield storage
        await storage.aclose()
        again = SqliteStorage(place)
        await again.open()
        assert await again.journal.audit() == []
        await again.aclose()


def test_what_is_built_in_is_a_kind_of_storage() -> None:
    assert {KINDS.get(name) for name in ("sqlite", "memory")} == {SQLITE, MEMORY}
    assert all(isinstance(kind, StorageKind) for kind in (SQLITE, MEMORY))


async def test_an_unknown_kind_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Unknown storage: 'redis'"):
        await open_storage(Config(home=tmp_path, project="p", storage="redis://host/0"))
    assert not (tmp_path / "p").exists()


async def test_a_storage_that_is_only_read_changes_nothing(tmp_path: Path) -> None:
    config = Config(home=tmp_path, project="p", durability="process")
    empty = await open_to_read(config)
    assert await empty.journal.runs() == []
    await empty.aclose()
    assert not (tmp_path / "p").exists()
    storage = await open_storage(config)
    lease = await storage.journal.acquire("a")
    await storage.journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
    await storage.aclose()
    found = await open_to_read(config)
    assert len(await found.journal.read("a")) == 1
    assert found.files is not None
    await found.aclose()
