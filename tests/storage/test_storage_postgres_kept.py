"""Collecting in PostgreSQL and its object store: what nothing refers to goes, nothing else does."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from object_server import ObjectServer
from postgres_server import PostgresServer

from artificer.agent import Agent
from artificer.config import Config
from artificer.errors import ConfigError
from artificer.ports import Head, StoragePlace
from artificer.providers.scripted import ScriptedProvider, say
from artificer.storage.blobs.objects import RENEWED_S, ObjectStore
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.storage import PostgresStorage
from artificer.testing.records import records_after
from artificer.values.canon import digest_of
from artificer.world import World

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("storage-postgres", "gc")]

numbers = count()

LARGE = 40_000


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"kept_{next(numbers)}")


async def collected(url: str, folder: Path) -> None:
    """Runs stay, whatever was put for nobody goes, and so does what a pruned run has said."""
    config = Config(home=folder, project="p", storage=url)
    async with World.open(config) as world:
        script = [say("a" * LARGE), say("b" * LARGE)]
        agent = Agent(ScriptedProvider(script), kind="chat")
        for run in ("a", "b"):
            await world.run("Say much.", agent, run_id=run)
        blobs, tidy = world._resources.storage.blobs, world.maintenance
        before = {*blobs.digests()}
        loose = blobs.put(b"nobody's " * LARGE)
        assert (await tidy.gc()).files == 0, "it was put just now"
        assert (await tidy.gc(older_than_s=-5, dry_run=True)).files == 1
        collected = await tidy.gc(older_than_s=-5)
        assert (collected.files, collected.bytes) == (1, 9 * LARGE)
        assert {*blobs.digests()} == before and not blobs.has(loose)
        await tidy.prune("a", by="ada", reason="old")
        collected = await tidy.gc(older_than_s=-5)
        assert collected.files + collected.small > 0
        assert (await world.archive.verify()).sound
        assert (await world.archive.replay("b")).identical
        assert (await tidy.fsck()).sound
        [pruned] = (await world.archive.list_runs(status="pruned")).runs
        assert pruned.run == "a"


async def test_blobs_in_the_database_are_collected(url: str, tmp_path: Path) -> None:
    await collected(url, tmp_path)


@pytest.mark.req("storage-objects")
async def test_objects_are_collected(url: str, tmp_path: Path, object_server: ObjectServer) -> None:
    await collected(f"{url}&blobs=s3://worlds/kept-{next(numbers)}", tmp_path)


async def opened(url: str, folder: Path) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url))
    assert isinstance(storage, PostgresStorage)
    return storage


async def test_a_blob_that_a_record_comes_to_cite_is_no_longer_old(
    url: str, tmp_path: Path
) -> None:
    """It was put, found to be nobody's, and committed with a record before it is removed."""
    storage = await opened(url, tmp_path)
    digest = storage.blobs.put(b"wanted")
    lease = await storage.journal.acquire("a")
    assert not storage.aging.remove(digest, time.time() - 60)
    records = records_after(Head(), "a", digest)
    await storage.journal.append("a", lease.epoch, Head(), records, [b"wanted"])
    assert not storage.aging.remove(digest, time.time() + 60)
    assert storage.blobs.get(digest) == b"wanted"
    storage.blobs.put(b"wanted")
    assert [*storage.aging.put_before(time.time() + 60)] == [digest]
    tip = await storage.journal.tip()
    assert await storage.journal.forget([digest], tip.position)
    assert storage.blobs.has(digest), "it was put again since"
    storage.aging.touch([digest])
    await storage.aclose()


@pytest.mark.req("storage-objects")
class TestObjects:
    def test_an_object_that_is_put_again_is_as_one_that_is_put(self, tmp_path: Path) -> None:
        store = ObjectStore(tmp_path.as_uri())
        digest = store.put(b"again")
        path = tmp_path / "sha256" / digest.removeprefix("sha256:")
        old, now = time.time() - 2 * RENEWED_S, time.time()
        os.utime(path, (old, old))
        assert [*store.put_before(now - 60)] == [digest]
        store.put(b"again")
        assert [*store.put_before(now - 60)] == [] and not store.remove(digest, now - 60)
        os.utime(path, (old, old))
        store.touch([digest, digest_of(b"never put")])
        assert not store.remove(digest, now - 60)
        os.utime(path, (old, old))
        assert store.remove(digest, now - 60) and not store.has(digest)

    def test_one_that_is_removed_while_it_is_put_again_is_there(self, tmp_path: Path) -> None:
        """It was there; until the writer has the lock, a collection has removed it."""

        @contextmanager
        def removed_before(digest: str) -> Iterator[None]:
            (tmp_path / "sha256" / digest.removeprefix("sha256:")).unlink()
            yield

        store = ObjectStore(tmp_path.as_uri(), lock=removed_before)
        digest = store.put(b"wanted")
        store.put(b"wanted")
        assert store.get(digest) == b"wanted"

    @pytest.mark.req("storage-objects-claim")
    async def test_two_worlds_share_no_objects(
        self, url: str, tmp_path: Path, object_server: ObjectServer
    ) -> None:
        place = f"s3://worlds/shared-{next(numbers)}"
        await (await opened(f"{url}&blobs={place}", tmp_path)).aclose()
        await (await opened(f"{url}&blobs={place}", tmp_path)).aclose()
        with pytest.raises(ConfigError, match="belong to another world") as caught:
            await opened(f"{url}_other&blobs={place}", tmp_path)
        assert "delete the object artificer-world" in caught.value.hint
