"""Leases of workers over HTTP, announced to the machines that share a world in PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from postgres_server import PostgresServer

from artificer.agent import Agent
from artificer.config import Config
from artificer.errors import OperatorError, OwnedError
from artificer.ports import HasOwnerLeases
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.access import Actor
from artificer.studio.jobs.announced import AnnouncedLeases
from artificer.studio.jobs.rows import JobRow
from artificer.studio.jobs.service import Jobs
from artificer.values.model import ModelFailure
from artificer.world import World, storage_of

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("http-worker-announced")]

GONE = ModelFailure(code="unavailable", message="gone", attempts=1)
OWNED = r"owned by the worker gpu, which is alive: its lease ends at 2"


async def present() -> bool:
    return False


async def test_a_lease_is_known_on_every_machine_also_after_the_server_was_killed(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.url("announced")
    homes = [Config(home=tmp_path / name, project="p", storage=url) for name in ("1", "2")]
    agent = Agent(ScriptedProvider([say("Hello.")]))
    async with World.open(homes[0]) as here, World.open(homes[1]) as there:
        run = (await here.run("Hello.", Agent(ScriptedProvider([GONE])))).id
        jobs = Jobs(here)
        await jobs.submit(run, 3, 2)
        leased = await jobs.lease(Actor("gpu", "token t"), "", 600, 0, present)
        assert leased is not None and leased.run == run
        with pytest.raises(OwnedError, match=OWNED):
            await there.resume(run, agent)
        row = jobs.queue.get(run)
        announced = AnnouncedLeases(storage_of(here))
        await asyncio.to_thread(postgres_server.stop)
        try:
            with pytest.raises(OperatorError, match="cannot be reached"):
                await announced.renew(row)
        finally:
            await asyncio.to_thread(postgres_server.start)
        await announced.renew(JobRow(run, "leased", 3, 0, 2, owner=row.owner, seconds=900))
        announced.close()
        shared: object = storage_of(there).storage
        assert isinstance(shared, HasOwnerLeases)
        leases = shared.owner_leases
        lease = await asyncio.to_thread(leases.find, row.owner)
        leases.close()
        assert lease is not None and lease.seconds_left > 600, "renewed over a new connection"
        with pytest.raises(OwnedError, match=OWNED):
            await there.resume(run, agent)
        await jobs.heartbeat(row, 0)
        await jobs.release(row)
        assert (await there.resume(run, agent)).status == "completed"
        await jobs.aclose()


async def test_where_no_storage_knows_owners_nothing_is_announced() -> None:
    async with World.in_memory() as world:
        announced = AnnouncedLeases(storage_of(world))
        row = JobRow("r", "leased", 3, 0, 2)
        await announced.renew(row)
        await announced.end(row)
        announced.close()
