"""No effect starts once the files of a journal in use are gone: nothing would know of it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import charging
import preloaded
from artificer import Agent, World, tool
from artificer.errors import OperatorError

pytestmark = pytest.mark.req("journal-in-place")


def log_removed(project: Path) -> None:
    (project / "journal.db-wal").unlink()


def world_deleted(project: Path) -> None:
    shutil.rmtree(project)


def world_moved(project: Path) -> None:
    project.rename(project.with_name("elsewhere"))


def backup_restored(project: Path) -> None:
    backup = shutil.copytree(project, project.with_name("backup"))
    world_moved(project)
    backup.rename(project)


def copied_by_the_program(project: Path) -> None:
    """It drops SQLite's locks in this process, so that another one removes the log."""
    shutil.copytree(project, project.with_name("backup"))
    home = ["--home", str(project.parent), "--project", project.name]
    done = preloaded.run(["-m", "artificer", *home, "steer", "r", "Be quick."], capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "harm", [log_removed, world_deleted, world_moved, backup_restored, copied_by_the_program]
)
async def test_a_run_stops_before_the_next_effect(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    made: list[int] = []

    @tool(effect="once")
    async def charge(n: int) -> str:
        """Charge somebody."""
        made.append(n)
        if n == 1:
            await asyncio.to_thread(harm, tmp_path / "p")
        return "charged"

    async with World.open(charging.config(tmp_path)) as world:
        agent = Agent(charging.model(), kind="chat", tools=[charge])
        with pytest.raises(OperatorError, match="removed, moved or replaced while it was in use"):
            await world.run("Charge.", agent, run_id="r")
    assert made == [0, 1]
