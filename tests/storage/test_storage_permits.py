"""The permits of shared limits: in PostgreSQL, in a folder, and of one process."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio
from postgres_server import PostgresServer

from artificer.errors import OperatorError
from artificer.ports import LimitReached, Permit, Permits, SharedLimit, StoragePlace
from artificer.storage.memory.permits import MemoryPermits
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.sqlite import permits as permits_file
from artificer.storage.sqlite.permits import SqlitePermits
from artificer.testing.permits_suite import LONG_S, PermitsSuite

numbers = count()


@pytest.mark.req("shared-limits")
class TestMemoryPermits(PermitsSuite):
    @pytest.fixture
    def permits(self) -> Permits:
        return MemoryPermits()


@pytest.mark.req("shared-limits")
class TestSqlitePermits(PermitsSuite):
    @pytest.fixture
    def permits(self, tmp_path: Path) -> Iterator[Permits]:
        permits = SqlitePermits(tmp_path)
        yield permits
        permits.close()


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


ONE = SharedLimit("one", 1)


@pytest.fixture
def folder_permits(tmp_path: Path) -> Iterator[tuple[SqlitePermits, SqlitePermits]]:
    """Two of one folder, as two processes have them."""
    both = SqlitePermits(tmp_path), SqlitePermits(tmp_path)
    yield both
    for each in both:
        each.close()


def files_of(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def replace_files(folder: Path, content: bytes | None) -> None:
    """Delete the file of permits, and put another one there."""
    for file in folder.glob("permits.db*"):
        file.unlink()
    if content is not None:
        (folder / "permits.db").write_bytes(content)


@pytest.mark.req("shared-limits")
async def test_connections_to_a_folder_share_its_limits(
    folder_permits: tuple[SqlitePermits, SqlitePermits],
) -> None:
    one, other = folder_permits
    assert await one.take("a", [ONE], LONG_S) is None
    assert await other.take("b", [ONE], LONG_S) == LimitReached("one")
    await other.give_back([Permit("a", ("one",))])
    assert await one.take("c", [ONE], LONG_S) is None
    assert await other.held() == {"one": 1}


@pytest.mark.req("shared-limits")
@pytest.mark.parametrize("damage", [b"not a database" * 999, None])
async def test_permits_that_are_lost_count_again(
    damage: bytes | None, tmp_path: Path, folder_permits: tuple[SqlitePermits, SqlitePermits]
) -> None:
    """Also where others have the lost file open: they do not go on with limits of their own."""
    one, other = folder_permits
    for each in (one, other):
        await each.take(str(id(each)), [SharedLimit("two", 2)], LONG_S)
    replace_files(tmp_path, damage)
    if damage is not None:
        with pytest.raises(OperatorError, match=r"permits\.db cannot be used"):
            await one.held()
    assert await one.held() == {}
    await other.renew([Permit("a", ("one",))], LONG_S)
    assert await one.take("b", [ONE], LONG_S) == LimitReached("one")


@pytest.mark.req("shared-limits")
async def test_a_machine_that_was_started_again_forgets_what_was_taken_before(
    tmp_path: Path, folder_permits: tuple[SqlitePermits, SqlitePermits]
) -> None:
    """Its clock began at zero."""
    one, other = folder_permits
    await one.take("a", [ONE], LONG_S)
    one.close()
    with closing(sqlite3.connect(tmp_path / "permits.db")) as db, db:
        later = time.monotonic() + 86_400
        db.execute("UPDATE permits SET since = ?1, until = ?1 + 60", (later,))
    assert await other.take("b", [ONE], LONG_S) is None


@pytest.mark.req("shared-limits")
async def test_a_permit_that_is_taken_while_another_process_opens_the_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began after the time that the other one has looked at, and is not of an older boot."""
    first, second = SqlitePermits(tmp_path), SqlitePermits(tmp_path)
    await first.take("old", [ONE], LONG_S)
    await first.give_back([Permit("old", ("one",))])
    taken = threading.Event()

    def take() -> None:
        asyncio.run(first.take("new", [ONE], LONG_S))
        taken.set()

    def looked_at() -> float:
        monkeypatch.setattr(permits_file, "time", time)
        now = time.monotonic()
        threading.Thread(target=take).start()
        taken.wait(0.5)  # it has to wait for the one that opens the file
        return now

    monkeypatch.setattr(permits_file, "time", SimpleNamespace(monotonic=looked_at))
    await second.held()
    assert await asyncio.to_thread(taken.wait, 10)
    assert await second.held() == {"one": 1}
    first.close()
    second.close()


@pytest.mark.req("shared-limits")
async def test_a_limit_of_nothing_makes_no_file(
    tmp_path: Path, folder_permits: tuple[SqlitePermits, SqlitePermits]
) -> None:
    assert await folder_permits[0].take("a", [], LONG_S) is None
    assert files_of(tmp_path) == []
