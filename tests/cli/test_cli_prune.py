"""``artificer prune`` that was interrupted, or could not delete everything, and is repeated."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import Shell

import preloaded
from artificer import World
from artificer.agent import Agent
from artificer.backends.call_folders import call_folder
from artificer.config import Config, load_config
from artificer.providers.scripted import ScriptedProvider, say

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from artificer import World, maintenance
from artificer.config import Config
from artificer.storage.sqlite.journal import SqliteJournal

home, run, point = sys.argv[1:]
erase, remove = SqliteJournal.erase, maintenance.remove_files

async def erased(*given):
    if point == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    await erase(*given)
    if point == "after":
        os.kill(os.getpid(), signal.SIGKILL)

def removed(project, run):
    (project / "runs" / run / "report.md").unlink()
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with World.open(Config(home=Path(home), project="test")) as world:
        await world.maintenance.prune(run)

SqliteJournal.erase, maintenance.remove_files = erased, removed
asyncio.run(main())
"""
"""Prunes a run in a process that is killed before or after its records are emptied, or later."""


def config_of(shell: Shell) -> Config:
    return load_config(home=shell.home, project="test")


async def begin(shell: Shell, *runs: str) -> Path:
    """Make finished runs with evidence and views, which the indexes have; return the project."""
    config = config_of(shell)
    agent = Agent(ScriptedProvider([say("Yes.")] * len(runs)), kind="chat")
    async with World.open(config) as world:
        for run in runs:
            await world.run(f"Paint the zebra {run}.", agent, run_id=run)
        assert len(await world.archive.search("zebra")) == len(runs)
        assert len((await world.archive.list_runs(text="zebra")).runs) == len(runs)
    project = config.project_folder
    for run in runs:
        (call_folder(project / "evidence", run, "c") / "out.txt").write_text("zebra")
        (project / "builds" / run / "repo.git").mkdir(parents=True)
        (project / "runs" / run).mkdir(parents=True)
        (project / "runs" / run / "report.md").write_text("zebra")
    return project


def kill_at(shell: Shell, run: str, point: str) -> None:
    words = [sys.executable, "-c", KILLED, str(shell.home), run, point]
    ended = preloaded.Popen(words, stderr=subprocess.PIPE)
    told = ended.communicate()[1]
    assert ended.returncode == -signal.SIGKILL, told.decode()


def words_left(project: Path) -> list[str]:
    """The files outside the journal that still have a word of the run."""
    files = [path for path in project.rglob("*") if path.is_file()]
    return [path.name for path in files if b"zebra" in path.read_bytes()]


@pytest.mark.req("prune-interrupted")
class TestInterrupted:
    @pytest.mark.parametrize("point", ["before", "after", "later"])
    @pytest.mark.parametrize("named", [True, False])
    async def test_the_next_one_does_the_rest(self, shell: Shell, point: str, named: bool) -> None:
        project = await begin(shell, "old", "old.part")
        kill_at(shell, "old.part", point)
        found = await shell.run("fsck")
        assert found.code == 1 and "Run old.part was pruned only in part" in found.out
        assert "`artificer prune old.part --forever`" in found.out

        which = ["old.part"] if named else ["--older-than", "9"]
        listed = await shell.run("prune", *which)
        assert listed.out.split()[0] == "old.part" and "would prune 1 run" in listed.err
        assert (await shell.run("fsck")).code == 1, "nothing was deleted"
        done = await shell.run("prune", *which, "--forever")
        assert (done.code, "pruned 1 run" in done.err) == (0, True)

        assert (await shell.run("fsck")).code == 0
        assert "would prune 0 runs" in (await shell.run("prune", "--older-than", "9")).err
        assert (await shell.run("show", "old.part")).code == 3
        assert "old.part" not in (await shell.run("search", "zebra")).out
        for kind in ("runs", "evidence", "builds"):
            assert [path.name for path in (project / kind).iterdir()] == ["old"]

    @pytest.mark.parametrize("point", ["before", "after", "later"])
    async def test_no_index_keeps_what_nobody_would_look_for(
        self, shell: Shell, point: str
    ) -> None:
        """Once the records are empty, only files show that something is left."""
        project = await begin(shell, "old")
        assert {"runs.db", "search.db"} <= {*words_left(project)}
        kill_at(shell, "old", point)
        async with World.open(config_of(shell)) as world:
            (listed,) = (await world.archive.list_runs(status="pruned")).runs
        assert (listed.run, listed.prompt) == ("old", "")
        with closing(sqlite3.connect(project / "runs.db")) as index:
            assert index.execute("SELECT words FROM texts").fetchall() == [("",)]
        assert "search.db" not in words_left(project)
        assert (await shell.run("prune", "old", "--forever")).code == 0
        assert (await shell.run("gc", "--older-than", "0")).code == 0
        assert words_left(project) == []
