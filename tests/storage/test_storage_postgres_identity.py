"""The id of a world in PostgreSQL, its site, and what is done where a copy of it is opened."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import obstore
import psycopg
import pytest
from object_server import ObjectServer
from obstore.store import from_url
from postgres_server import PostgresServer

from artificer.errors import ConfigError, MovedError
from artificer.ports import UNCLAIMED, Head, StoragePlace
from artificer.storage.blobs.claims import NAME
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.settling import look_at, settle_world
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.world_names import name_from_url
from artificer.storage.world_site import WorldSite
from artificer.testing.records import records_after

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("world-identity")]

numbers = count()

ELSEWHERE = "7000000000000000000 5 16390 00000001"
"""The site of an original: what a restored dump says of itself."""


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"identity_{next(numbers)}")


def database_of(url: str) -> Database:
    return Database.parse(url, "power", read_only=False)


async def opened(url: str, folder: Path, *, read_only: bool = False) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url, read_only=read_only))
    assert isinstance(storage, PostgresStorage)
    return storage


def moved(url: str, site: str = ELSEWHERE) -> None:
    """Make a world one that was written elsewhere."""
    with database_of(url).connect() as db:
        db.execute("UPDATE meta SET value = %s WHERE key = 'site'", (site,))


def new_place() -> str:
    return f"s3://worlds/identity-{next(numbers)}"


async def test_every_world_has_an_id_of_its_own_wherever_it_is_asked(
    url: str, tmp_path: Path
) -> None:
    first, again = await opened(url, tmp_path / "1"), await opened(url, tmp_path / "2")
    other = await opened(f"{url}_other", tmp_path / "3")
    assert len(first.world_name) == 32
    assert first.world_name == again.world_name != other.world_name
    assert await first.journal.audit() == []
    for storage in (first, again, other):
        await storage.aclose()


async def test_what_was_written_elsewhere_is_read_and_not_written(url: str, tmp_path: Path) -> None:
    """Until the operator says that it is the world, or a copy with an id of its own."""
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a", UNCLAIMED)
    name = storage.world_name
    await storage.aclose()
    moved(url)
    with pytest.raises(MovedError, match="restored, copied or moved") as refused:
        await opened(url, tmp_path)
    assert "--restored" in str(refused.value.hint) and "--new-id" in str(refused.value.hint)
    reader = await opened(url, tmp_path, read_only=True)
    assert await reader.journal.audit() == []
    await reader.aclose()
    assert settle_world(database_of(url), is_copy=False) == name
    storage = await opened(url, tmp_path)
    assert storage.world_name == name
    await storage.aclose()
    moved(url)
    copy = settle_world(database_of(url), is_copy=True)
    storage = await opened(url, tmp_path)
    assert storage.world_name == copy != name
    await storage.aclose()


async def test_a_copy_gets_none_of_the_originals_objects(
    url: str, object_server: ObjectServer, tmp_path: Path
) -> None:
    url = f"{url}&blobs={new_place()}"
    original = await opened(url, tmp_path)
    moved(url)
    with pytest.raises(ConfigError, match="belong to another world"):
        settle_world(database_of(url), is_copy=True)
    own = url.partition("&blobs=")[0] + f"&blobs={new_place()}"
    settle_world(database_of(own), is_copy=True)
    with pytest.raises(ConfigError, match="belong to another world"):
        (await opened(url, tmp_path)).blobs.put(b"for the original")
    copy = await opened(own, tmp_path)
    copy.blobs.put(b"for the copy")
    original.blobs.put(b"for the original")
    for storage in (original, copy):
        await storage.aclose()


async def test_a_url_that_leaves_out_where_large_blobs_are_is_refused(
    url: str, object_server: ObjectServer, tmp_path: Path
) -> None:
    """Or their process would miss them, and `gc` take what it is told of for all there is."""
    await (await opened(f"{url}&blobs={new_place()}", tmp_path)).aclose()
    for read_only in (False, True):
        with pytest.raises(ConfigError, match="in an object store"):
            await opened(url, tmp_path, read_only=read_only)


async def test_a_restored_world_takes_its_objects_and_its_original_gets_them_no_more(
    url: str, object_server: ObjectServer, tmp_path: Path
) -> None:
    place = new_place()
    url = f"{url}&blobs={place}"
    await (await opened(url, tmp_path)).aclose()
    claim = bytes(obstore.get(from_url(place), NAME).bytes())
    moved(url)
    there = claim.replace(claim.partition(b'"site":"')[2].rstrip(b'"}'), ELSEWHERE.encode())
    obstore.put(from_url(place), NAME, there)
    settle_world(database_of(url), is_copy=False)
    restored = await opened(url, tmp_path)
    restored.blobs.put(b"large")
    assert bytes(obstore.get(from_url(place), NAME).bytes()) == claim
    await restored.aclose()
    obstore.put(from_url(place), NAME, there)  # another one was restored: this is the original now
    original = await opened(url, tmp_path)
    with pytest.raises(MovedError, match="belong to another copy of this world"):
        original.blobs.put(b"more")
    await original.aclose()


async def test_a_world_that_had_no_id_keeps_its_queue_and_its_objects(
    url: str, object_server: ObjectServer, tmp_path: Path
) -> None:
    """Also under another host name; those of a schema of another name are not its own."""
    place = new_place()
    await (await opened(url, tmp_path)).aclose()
    database = database_of(url)
    with psycopg.connect(database.conninfo, autocommit=True) as db:
        keys = "'world', 'site', 'replication'"
        db.execute(f"DELETE FROM {database.schema}.meta WHERE key IN ({keys})".encode())
        db.execute(f"UPDATE {database.schema}.meta SET value = '5' WHERE key = 'layout'".encode())
    former = database.name.split(" ")
    obstore.put(from_url(place), NAME, " ".join(["db1", "", "5432", *former[-2:]]).encode())
    storage = await opened(f"{url}&blobs={place}", tmp_path)
    assert storage.world_name == name_from_url("/postgres", database.schema)
    storage.blobs.put(b"large")
    assert bytes(obstore.get(from_url(place), NAME).bytes()).startswith(b'{"world":')
    await storage.aclose()
    obstore.put(from_url(place), NAME, " ".join([*former[:-1], "other"]).encode())
    storage = await opened(f"{url}&blobs={place}", tmp_path)
    with pytest.raises(ConfigError, match="belong to another world"):
        storage.blobs.put(b"large")
    await storage.aclose()


@pytest.mark.req("world-lost-records")
async def test_a_writer_that_knows_more_than_the_database_says_so_and_nobody_goes_on(
    url: str, tmp_path: Path
) -> None:
    """As after the fail-over to a replica that was behind, which nothing else had told."""
    storage = await opened(url, tmp_path)
    journal = storage.journal
    lease = await journal.acquire("a", UNCLAIMED)
    before = await journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
    head = await journal.append("a", lease.epoch, before, records_after(before, "a", 2))
    with database_of(url).connect() as db:
        db.execute("DELETE FROM records WHERE run = 'a' AND seq = 2")
        db.execute("UPDATE runs SET seq = 1, hash = %s WHERE run = 'a'", (before.hash,))
    more = records_after(head, "a", 3)
    with pytest.raises(MovedError, match="run a ends there at record 1, and was at record 2"):
        await journal.append("a", lease.epoch, head, more)
    await nobody_opens(url, tmp_path)
    with pytest.raises(MovedError, match="has lost records"):
        await journal.acquire("a", UNCLAIMED)
    assert "has lost records" in (await journal.audit())[0]
    settle_world(database_of(url), is_copy=False)
    other = await opened(url, tmp_path / "other")
    assert (await other.journal.acquire("a", UNCLAIMED)).head == before
    for one in (storage, other):
        await one.aclose()


async def nobody_opens(url: str, folder: Path) -> None:
    """Nobody opens it to write, and doctor says why."""
    with pytest.raises(MovedError, match="has lost records"):
        await opened(url, folder / "other")
    fault, _ = look_at(database_of(url))
    assert isinstance(fault, MovedError)


def test_a_site_is_that_of_a_replica_only_after_its_promotion() -> None:
    site = WorldSite.read("7 5 9 0000000A")
    assert site is not None and WorldSite.read("7 5 9") is None
    assert str(site) == "7 5 9 0000000A"
    for text, is_promoted in (
        ("7 5 9 0000000B", True),
        ("7 5 9 0000000A", False),
        ("7 5 9 00000009", False),
        ("8 5 9 0000000B", False),
        ("7 5 8 0000000B", False),
    ):
        other = WorldSite.read(text)
        assert other is not None and other.is_promoted_from(site) is is_promoted
