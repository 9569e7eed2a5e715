"""The permits of shared limits: in PostgreSQL, and of one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio
from postgres_server import PostgresServer

from artificer.ports import Permits, StoragePlace
from artificer.storage.memory.permits import MemoryPermits
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.storage import PostgresStorage
from artificer.testing.permits_suite import PermitsSuite

numbers = count()


@pytest.mark.req("shared-limits")
class TestMemoryPermits(PermitsSuite):
    @pytest.fixture
    def permits(self) -> Permits:
        return MemoryPermits()


@pytest.mark.req("shared-limits")
@pytest.mark.xdist_group("servers")
class TestPostgresPermits(PermitsSuite):
    @pytest_asyncio.fixture
    async def permits(
        self, postgres_server: PostgresServer, tmp_path: Path
    ) -> AsyncIterator[Permits]:
        url = postgres_server.url(f"permits_{next(numbers)}")
        storage = await POSTGRES.open(StoragePlace(tmp_path, url))
        assert isinstance(storage, PostgresStorage)
        yield storage.permits
        await storage.aclose()
