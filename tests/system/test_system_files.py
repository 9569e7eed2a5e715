"""Only its owner can read the files of a home."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from artificer import World
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider, call, reply, say


@pytest.fixture(params=[0o022, 0o000, 0o077, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@tool(effect="pure")
async def long() -> str:
    """Something too long for a record."""
    return "x" * 100_000


@pytest.mark.req("private-files")
@pytest.mark.usefixtures("umask")
async def test_folders_and_databases_are_their_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "some" / "home"
    script = [reply(call("long")), say("Done.")]
    async with World.open(Config(home=home, project="p")) as world:
        run = await world.run(
            "Go.", Agent(model=ScriptedProvider(script), tools=[long], kind="chat")
        )
        world._resources.storage.versions.add("notes", 1, "sha256:" + "0" * 64)
        world._resources.storage.snapshots.put(run.id, b"{}", 0, b"")
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in (home.parent, home, *home.rglob("*"))
        }
    assert [name for name, mode in modes.items() if mode & 0o077] == []
    assert modes["some"] == modes["home"] == modes["p"] == 0o700
    databases = {name: mode for name, mode in modes.items() if ".db" in name}
    assert databases.keys() >= {"journal.db", "journal.db-wal", "journal.db-shm"}
    assert databases.keys() >= {"snapshots.db", "snapshots.db-wal"}
    assert set(databases.values()) == {0o600}


@pytest.mark.req("private-files")
async def test_a_world_of_an_older_release_is_made_private_once(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    config = Config(home=tmp_path, project="p")

    async def open_it() -> tuple[int, int]:
        async with World.open(config):
            pass
        found = (folder.stat().st_mode, (folder / "journal.db").stat().st_mode)
        return stat.S_IMODE(found[0]), stat.S_IMODE(found[1])

    await open_it()
    (folder / "journal.db-anchor").unlink()  # which the older release did not make
    folder.chmod(0o755)
    (folder / "journal.db").chmod(0o644)
    assert await open_it() == (0o700, 0o600)
    folder.chmod(0o750)
    (folder / "journal.db").chmod(0o640)
    assert await open_it() == (0o750, 0o640), "what its owner opened to a group stays open"
