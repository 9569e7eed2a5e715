"""A world in PostgreSQL lasts, is shared between processes, and chains all that is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from postgres_server import PostgresServer

from artificer.ports import Storage, StorageKind, StoragePlace
from artificer.storage.postgres.kind import POSTGRES
from artificer.testing.storage_kind_suite import StorageKindSuite
from artificer.testing.world_chain_suite import WorldChainSuite

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("storage-postgres")]

numbers = count()


@pytest.fixture
def place(postgres_server: PostgresServer, tmp_path: Path) -> StoragePlace:
    return StoragePlace(tmp_path, postgres_server.url(f"suites_{next(numbers)}"))


class TestPostgres(StorageKindSuite):
    @pytest.fixture
    def kind(self) -> StorageKind:
        return POSTGRES


class TestPostgresChain(WorldChainSuite):
    @pytest.fixture
    async def storage(self, place: StoragePlace) -> AsyncIterator[Storage]:
        storage = await POSTGRES.open(place)
        assert storage is not None
        yield storage
        await storage.aclose()
