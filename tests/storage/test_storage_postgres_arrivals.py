"""New runs and signals reach those who wait for them at once."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from cut_line import cutting
from postgres_server import PostgresServer

from artificer.ports import StoragePlace
from artificer.storage.postgres.arrivals import PostgresArrivals
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.storage import PostgresStorage
from artificer.testing.arrivals_suite import LONG_S, ArrivalsSuite

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("arrivals")]

numbers = count()


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"arrivals_{next(numbers)}")


@pytest.fixture
async def elsewhere(url: str, tmp_path: Path) -> AsyncIterator[PostgresStorage]:
    storage = await POSTGRES.open(StoragePlace(tmp_path, url))
    assert isinstance(storage, PostgresStorage)
    yield storage
    await storage.aclose()


@pytest.fixture
async def arrivals(elsewhere: PostgresStorage, url: str) -> AsyncIterator[PostgresArrivals]:
    arrivals = PostgresArrivals(Database.parse(url, "power", read_only=False))
    yield arrivals
    arrivals.close()


class TestPostgresArrivals(ArrivalsSuite):
    pass


async def test_a_lost_connection_is_made_again(
    postgres_server: PostgresServer, elsewhere: PostgresStorage, url: str
) -> None:
    with cutting(postgres_server) as line:
        arrivals = PostgresArrivals(Database.parse(line.url(url), "power", read_only=False))
        await arrivals.wait(0)
        line.cut()
        await arrivals.wait(0.01)
        line.mend()
        await arrivals.wait(0)  # it looks again from here on
        await elsewhere.signals.post("r", b"{}")
        await arrivals.wait(LONG_S)
        arrivals.close()


async def test_without_a_server_it_lasts_its_time() -> None:
    database = Database.parse("postgresql://x@127.0.0.1:1/none", "power", read_only=False)
    await PostgresArrivals(database).wait(0.01)


async def test_who_stops_waiting_while_it_connects_leaves_nothing_open(
    arrivals: PostgresArrivals,
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    waiting = asyncio.create_task(arrivals.wait(LONG_S))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(arrivals.close)  # after what the thread still does
    gc.collect()  # a connection that is still open warns, which fails the test
