"""Fail-over to a replica: one that had every commit, and one that was behind. Real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres_server import PostgresServer, postgres
from replica import Replica, replica_of

from artificer.errors import MovedError, OperatorError
from artificer.ports import UNCLAIMED, Head, StoragePlace
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.settling import look_at, settle_world
from artificer.storage.postgres.storage import PostgresStorage
from artificer.testing.records import records_after

pytestmark = pytest.mark.xdist_group("servers")


def url_of(*servers: PostgresServer) -> str:
    """The world on whichever of these servers takes writes."""
    hosts = ",".join(str(server.sockets) for server in servers)
    return f"postgresql://artificer@/postgres?host={hosts}&target_session_attrs=read-write"


async def opened(url: str, folder: Path) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url))
    assert isinstance(storage, PostgresStorage)
    return storage


def database_of(url: str) -> Database:
    return Database.parse(url, "power", read_only=False)


def fail_over(primary: PostgresServer, replica: Replica) -> None:
    primary.stop()
    replica.promote()


@pytest.mark.req("world-failover")
async def test_a_replica_that_is_waited_for_goes_on_and_one_that_was_behind_does_not(
    tmp_path: Path,
) -> None:
    with postgres() as first, replica_of(first) as second:
        with database_of(url_of(first)).connect() as db:
            db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            db.execute("SELECT pg_reload_conf()")
        await _whole(first, second, tmp_path / "whole")
        with database_of(url_of(second)).connect() as db:
            db.execute("ALTER SYSTEM RESET synchronous_standby_names")
            db.execute("SELECT pg_reload_conf()")
        with replica_of(second) as third:
            await _behind(second, third, tmp_path / "behind")
        first.start()  # for the end of the block


async def _whole(primary: PostgresServer, replica: Replica, folder: Path) -> None:
    """Commits have waited for the replica: who works notices nothing."""
    url = url_of(primary, replica)
    with pytest.raises(OperatorError, match="is a replica"):
        await opened(url_of(replica).replace("read-write", "any"), folder)
    storage = await opened(url, folder)
    assert look_at(database_of(url)) == (None, "synchronous")
    lease = await storage.journal.acquire("a", UNCLAIMED)
    head = await storage.journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
    fail_over(primary, replica)
    head = await storage.journal.append("a", lease.epoch, head, records_after(head, "a", 2))
    assert head.seq == 2 and await storage.journal.audit() == []
    await storage.aclose()
    await (await opened(url, folder)).aclose()


async def _behind(primary: PostgresServer, replica: Replica, folder: Path) -> None:
    """The last commits are gone: nobody goes on until the operator says so."""
    url = url_of(primary, replica)
    storage = await opened(url, folder)
    assert look_at(database_of(url)) == (None, "asynchronous")
    lease = await storage.journal.acquire("b", UNCLAIMED)
    head = await storage.journal.append("b", lease.epoch, Head(), records_after(Head(), "b", 1))
    heads = {run.run: run.head for run in await storage.journal.runs()}
    replica.stop("fast")
    ahead = await storage.journal.append("b", lease.epoch, head, records_after(head, "b", 2))
    primary.stop()
    replica.start()
    replica.promote()
    more = records_after(ahead, "b", 3)
    for _ in range(2):
        with pytest.raises(MovedError, match="the last commits may be missing"):
            await storage.journal.append("b", lease.epoch, ahead, more)
    with pytest.raises(MovedError, match="may be missing"):
        await opened(url, folder)
    assert await storage.journal.audit() == [], "the older state is whole: only heads tell"
    assert {run.run: run.head for run in await storage.journal.runs()} == heads
    settle_world(database_of(url), is_copy=False)
    with pytest.raises(MovedError, match="run b ends there at record 1, and was at record 2"):
        await storage.journal.append("b", lease.epoch, ahead, more)
    assert len(await storage.journal.audit()) == 1
    settle_world(database_of(url), is_copy=False)
    assert (await storage.journal.acquire("b", UNCLAIMED)).head == head
    await storage.aclose()
