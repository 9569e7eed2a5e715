"""Workers of a world that is not what they knew: they stop. Its name for other servers."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from postgres_server import PostgresServer
from temporal_server import TemporalServer
from temporalio.client import Client

from artificer.agent import Agent
from artificer.config import Config, WorkerConfig
from artificer.dispatch.kinds import announce
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.worker import Worker
from artificer.errors import MovedError
from artificer.ports import DispatchedRun
from artificer.providers.scripted import ScriptedProvider, say
from artificer.storage.postgres.connection import Database
from artificer.world import World, storage_of

pytestmark = pytest.mark.xdist_group("servers")

numbers = count()


def config_of(server: PostgresServer, folder: Path) -> Config:
    url = server.url(f"moved_{next(numbers)}")
    return Config(home=folder, project="p", storage=url)


@pytest.mark.req("world-lost-records")
async def test_a_worker_of_a_world_that_has_lost_records_ends(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    config = config_of(postgres_server, tmp_path)
    async with World.open(config) as world:
        run = await world.submit("Say it.", Agent(ScriptedProvider([say("It.")]), kind="chat"))
        before = await world.storage.journal.read(run)
        with Database.parse(config.storage, "power", read_only=False).connect() as db:
            db.execute("INSERT INTO meta VALUES ('lost', 'The database has lost records: some.')")
        with pytest.raises(MovedError, match="has lost records"):
            await Worker(world, LocalDispatcher()).run()
        assert await world.storage.journal.read(run) == before


@pytest.mark.req("world-identity")
async def test_the_queue_is_named_after_the_worlds_id(
    postgres_server: PostgresServer, server: TemporalServer, tmp_path: Path
) -> None:
    config = config_of(postgres_server, tmp_path)
    config = config.replace(worker=WorkerConfig(dispatcher=f"temporal://{server.address}"))
    async with World.open(config) as world:
        await announce(world, DispatchedRun("a"))
        name = storage_of(world).world_name
    client = await Client.connect(server.address)
    found = await client.get_workflow_handle(f"artificer-{name}:a").describe()
    assert found.task_queue == f"artificer-{name}"
    await client.get_workflow_handle(found.id).terminate()
