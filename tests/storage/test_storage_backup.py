"""Backups: a world that is restored as the guide says is the world, and goes on."""

from __future__ import annotations

import shutil
import subprocess
from itertools import count
from pathlib import Path

import obstore
import pytest
from object_server import ObjectServer
from obstore.store import from_url
from postgres_server import PostgresServer, postgres, programs

from artificer.agent import Agent
from artificer.config import Config
from artificer.core.signals import FollowUp
from artificer.errors import MovedError
from artificer.ports import Amount, Head, Settlement
from artificer.providers.scripted import ScriptedProvider, say
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.settling import settle_world
from artificer.world import World

pytestmark = pytest.mark.req("backup")

numbers = count()

LATER = """
DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$
"""


async def talk(world: World, run: str) -> None:
    agent = Agent(ScriptedProvider([say("a" * 40_000)]), kind="chat")
    await world.run("Say much.", agent, run_id=run)


async def filled(config: Config) -> dict[str, Head]:
    """Fill a world with some of everything; return its heads, as somebody keeps them."""
    async with World.open(config) as world:
        await talk(world, "a")
        await world._resources.storage.budget.settle([Settlement("day", 0, Amount(1, 2))])
        await world.send("a", FollowUp(text="And then?"))
        verification = await world.archive.verify()
        assert verification.sound
        return verification.heads


async def goes_on(config: Config, heads: dict[str, Head]) -> None:
    """Everything is there, as it was, and more comes after it."""
    async with World.open(config) as world:
        assert (await world.archive.verify()).heads == heads
        assert (await world.archive.replay("a")).identical
        assert len(await world._resources.storage.signals.read("a", 0)) == 1
        for run in ("b", "c"):
            await talk(world, run)
        verification = await world.archive.verify()
        assert verification.sound and not verification.problems
        await world.maintenance.gc(older_than_s=-5)
        assert (await world.archive.verify()).sound
        assert [run.run for run in (await world.archive.list_runs()).runs] == ["c", "b", "a"]


async def test_a_folder_that_is_copied_is_the_world(tmp_path: Path) -> None:
    """As docs/guides/deployment.md says: the journal with its log and anchor, and the blobs."""
    config = Config(home=tmp_path / "one", project="p")
    heads = await filled(config)
    copy = tmp_path / "two" / "p"
    copy.mkdir(parents=True)
    for path in config.project_folder.glob("journal.db*"):
        shutil.copy2(path, copy)
    shutil.copytree(config.project_folder / "blobs", copy / "blobs")
    await goes_on(Config(home=tmp_path / "two", project="p"), heads)


@pytest.mark.req("storage-postgres")
@pytest.mark.xdist_group("servers")
async def test_a_dump_is_restored_on_another_server(
    postgres_server: PostgresServer, object_server: ObjectServer, tmp_path: Path
) -> None:
    """Whose transactions have lower numbers than those that are restored."""
    schema, place = f"backup_{next(numbers)}", f"s3://worlds/backup-{next(numbers)}"
    url = f"{postgres_server.url(schema)}&blobs={place}"
    before = Database.parse(url, "power", read_only=False)
    with before.connect() as db:
        db.execute(LATER)
    heads = await filled(Config(home=tmp_path / "one", project="p", storage=url))

    folder, dump = programs(), tmp_path / "world.dump"
    assert folder is not None
    run(
        folder / "pg_dump",
        f"--schema={schema}",
        "--format=custom",
        f"--file={dump}",
        before.conninfo,
    )
    copied = place.replace("backup-", "restored-")
    source, target = from_url(place), from_url(copied)
    for page in obstore.list(source):
        for found in page:
            obstore.put(target, found["path"], obstore.get(source, found["path"]).bytes())

    with postgres() as other:
        there = f"{other.url(schema)}&blobs={copied}"
        after = Database.parse(there, "power", read_only=False)
        run(
            folder / "pg_restore",
            "--no-owner",
            "--exit-on-error",
            f"--dbname={after.conninfo}",
            dump,
        )
        config = Config(home=tmp_path / "two", project="p", storage=there)
        with pytest.raises(MovedError):
            await World.open(config).__aenter__()
        settle_world(after, is_copy=False)
        await goes_on(config, heads)
        async with World.open(config) as world:
            await talk(world, "d")
            assert (await world.archive.verify()).sound
    async with World.open(Config(home=tmp_path / "one", project="p", storage=url)) as world:
        assert (await world.archive.verify()).sound, "the original has lost nothing"


def run(*command: Path | str) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
