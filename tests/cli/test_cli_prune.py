"""``artificer prune`` that was interrupted, or could not delete everything, and is repeated."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import Result, Shell, finish

import preloaded
from artificer import World
from artificer.agent import Agent
from artificer.backends.call_folders import call_folder
from artificer.config import Config, load_config
from artificer.providers.scripted import ScriptedProvider, say
from rights import LOSING, needs_two_users

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


async def run_as_user(shell: Shell, *words: str) -> Result:
    """Run ``artificer`` in a process that may only do what the owner of a file may."""
    process = await asyncio.create_subprocess_exec(
        *LOSING,
        *(sys.executable, "-m", "artificer", *words),
        cwd=shell.cwd,
        env=shell.environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return await finish(process, None)


def lock(folder: Path, owner: int | None = None) -> Path:
    """Make a folder with a file as a program leaves it that lets nobody change it."""
    (folder / "cache" / "inner").mkdir(parents=True)
    (folder / "cache" / "inner" / "module.go").write_text("x")
    (folder / "open.txt").write_text("x")
    for place in (folder / "cache" / "inner", folder / "cache"):
        if owner is not None:
            os.chown(place, owner, -1)
        place.chmod(0o555)
    return folder / "cache" / "inner" / "module.go"


def make_old(folder: Path) -> None:
    past = time.time() - 90 * 86_400
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (past, past), follow_symlinks=False)


@pytest.mark.req("prune-removal")
class TestRemoval:
    async def test_what_a_program_made_read_only_goes(self, shell: Shell) -> None:
        project = await begin(shell, "a", "b")
        outside = shell.cwd / "outside"
        outside.mkdir(mode=0o500)
        for run in ("a", "b"):
            folder = call_folder(project / "evidence", run, "d")
            lock(folder)
            (folder / "link").symlink_to(outside)
        make_old(project / "evidence" / "b")
        done = await run_as_user(shell, "prune", "a", "--forever")
        assert (done.code, "pruned 1 run" in done.err) == (0, True)
        done = await run_as_user(shell, "tools", "prune", "--days", "30")
        assert (done.code, "the folders of 1 run" in done.err) == (0, True)
        assert [*(project / "evidence").iterdir()] == []
        assert outside.stat().st_mode & 0o777 == 0o500, "no link is followed"

    @needs_two_users
    async def test_what_stays_is_named_and_tried_again(self, shell: Shell) -> None:
        project = await begin(shell, "a", "b")
        file = lock(call_folder(project / "evidence", "a", "d"), owner=65534)
        for _ in range(2):
            failed = await run_as_user(shell, "prune", "--older-than", "0", "--forever")
            assert failed.code == 3 and f"{file}: Permission denied" in failed.err
            assert "artificer prune a --forever" in failed.err
        assert "pruned 0 runs" in failed.err, "the first time b was"
        assert not (project / "evidence" / "b").exists()
        assert not (project / "runs" / "a").exists(), "all that can go has gone"
        assert "Run a was pruned only in part" in (await shell.run("fsck")).out
        assert (await shell.run("prune", "a", "--forever")).code == 0
        assert (await shell.run("fsck")).code == 0 and not (project / "evidence" / "a").exists()

    @needs_two_users
    async def test_what_tools_wrote_stays_as_old_as_it_was(self, shell: Shell) -> None:
        project = await begin(shell, "a", "b")
        file = lock(call_folder(project / "evidence", "a", "d"), owner=65534)
        for run in ("a", "b"):
            make_old(project / "evidence" / run)
        for number in (1, 0):
            failed = await run_as_user(shell, "tools", "prune", "--days", "30")
            assert failed.code == 3 and f"{file}: Permission denied" in failed.err
            assert f"removed the folders of {number} run" in failed.err
        assert "of 1 run" in (await shell.run("tools", "prune", "--days", "30")).err


@pytest.mark.req("prune-repeated")
class TestRepeated:
    async def test_what_is_done_already_is_skipped(self, shell: Shell) -> None:
        """A command of several runs that was killed at any of them."""
        await begin(shell, "a", "b", "c")
        assert (await shell.run("prune", "a", "--forever")).code == 0
        kill_at(shell, "b", "before")
        listed = await shell.run("prune", "a", "b", "c")
        assert [line.split()[0] for line in listed.out.splitlines()] == ["b", "c"]
        assert "would prune 2 runs" in listed.err
        for runs, skipped in ((2, ["a"]), (0, ["a", "b", "c"])):
            done = await shell.run("prune", "a", "b", "c", "--forever")
            assert (done.code, f"pruned {runs} run" in done.err) == (0, True)
            said = [line for line in done.err.splitlines() if line.startswith("skipped")]
            assert said == [f"skipped: {run} was pruned before" for run in skipped]
        assert (await shell.run("fsck")).code == 0
        assert (await shell.run("prune", "d", "--forever")).code == 3

    async def test_the_runs_that_it_started_go_when_it_is_gone(self, shell: Shell) -> None:
        await begin(shell, "build", "build.code")
        async with World.open(config_of(shell)) as world:
            await world.maintenance.prune("build")
        for words in ((), ("--forever",)):
            done = await shell.run("prune", "build", *words)
            assert done.code == 0 and done.out.split()[0] == "build.code"
        assert "pruned 1 run" in done.err
