"""Commands that only read: nothing is made or changed, and what cannot be written can be read."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import Shell
from reader import COMMANDS
from write_world import PROJECT

import charging
import preloaded
from artificer import World
from artificer.backends.workspace.folder import commit_folder
from artificer.storage.blobs.disk import DiskStore
from sampling import sample
from test_durable import contents, killed

READER = str(Path(__file__).with_name("reader.py"))
OLDER = Path(__file__).parent.parent / "worlds" / "0.1.0.tar.gz"
NOBODY = 65534
SEPARATOR = b"--- once more\n"


LEFT = ("closed", "killed", "without shared memory", "of an older release")
"""The states in which programs leave a world. Each commit draws three."""


@pytest.fixture(params=sample(LEFT, 3, purpose="worlds that are only read"))
def world(request: pytest.FixtureRequest) -> Iterator[tuple[Path, str]]:
    """A home that another user could reach, and the project in it."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    home, project = folder / "home", "p"
    if request.param == "of an older release":
        with tarfile.open(OLDER) as tar:
            tar.extractall(home, filter="data")
        project = PROJECT
    else:
        (folder / "notes").mkdir()
        (folder / "notes" / "long.txt").write_text("x" * 40_000)
        asyncio.run(commit_notes(home, folder / "notes"))
        if request.param == "closed":
            asyncio.run(charging.begin(home, folder / "ledger"))
        else:
            killed(folder, "in")
        if request.param == "without shared memory":
            (home / "p" / "journal.db-shm").unlink()
    yield home, project
    shutil.rmtree(folder)


async def commit_notes(home: Path, folder: Path) -> None:
    async with World.open(charging.config(home)) as world:
        commit_folder(world.archive.workspaces, "notes", folder, message="first")


def read(home: Path, *more: object) -> tuple[bytes, bytes]:
    """Return everything that the commands print to stdout and stderr.

    They run where every user may: a checkout can be in somebody's own folder.
    """
    words = [str(READER), str(home), *map(str, more)]
    done = preloaded.run(words, capture_output=True, cwd=home.parent)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout, done.stderr


def exits(printed: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb": exit (\d+)$", printed, re.MULTILINE)]


def may_mount() -> bool:
    try:
        return subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0
    except FileNotFoundError:
        return False


def others_may_read() -> bool:
    """Whether other users may enter the folder of this checkout."""
    return all(folder.stat().st_mode & 0o001 for folder in Path(READER).parents)


@pytest.mark.req("read-only")
class TestReading:
    def test_makes_and_changes_nothing(self, world: tuple[Path, str]) -> None:
        home, _ = world
        before = contents(home)
        printed, _ = read(*world)
        assert contents(home) == before
        assert [code for code in exits(printed) if code] == []
        assert len(exits(printed)) == len(COMMANDS)

    @pytest.mark.skipif(not may_mount(), reason="needs the right to mount: run as root on Linux")
    def test_works_on_a_read_only_file_system(self, world: tuple[Path, str]) -> None:
        home, project = world
        printed, told = read(home, project, "ro")
        here, _, there = printed.partition(SEPARATOR)
        assert there == here, told.decode()

    @pytest.mark.skipif(
        os.geteuid() != 0 or not others_may_read(),
        reason="needs to become another user, who may enter this checkout: run as root",
    )
    def test_works_for_a_user_who_may_only_read(self, world: tuple[Path, str]) -> None:
        home, project = world
        for path in (home, *home.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        before = contents(home)
        printed, told = read(home, project, NOBODY)
        mine, _, theirs = printed.partition(SEPARATOR)
        assert theirs == mine, told.decode()
        assert contents(home) == before

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user: run as root")
    def test_names_what_another_user_may_not_read(self, world: tuple[Path, str]) -> None:
        home, project = world
        home.chmod(0o700)
        printed, told = read(home, project, NOBODY)
        theirs = printed.partition(SEPARATOR)[2]
        assert exits(theirs) == [3] * (len(COMMANDS) - 1) + [1], "the doctor says so, and goes on"
        error = told.partition(SEPARATOR)[2].decode()
        named = f"error: {home / project}/journal.db cannot be read by this user."
        assert error.count(named) == len(COMMANDS) - 1 and "Permission denied" not in error


@pytest.mark.req("read-only")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user: run as root")
def test_a_blob_of_another_user_is_named() -> None:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        store = DiskStore(folder / "blobs")
        digest = store.put(b"x" * 40_000)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o600)
        script = (
            "import os, sys; from artificer.storage.blobs.disk import DiskStore; "
            "from artificer.errors import OperatorError\n"
            f"os.setuid({NOBODY})\n"
            "try: DiskStore(sys.argv[1], read_only=True).get(sys.argv[2])\n"
            "except OperatorError as error: print(error.message)"
        )
        words = ["-c", script, str(folder / "blobs"), digest]
        said = preloaded.run(words, capture_output=True, text=True, check=True).stdout
        assert digest.removeprefix("sha256:")[2:] in said and "cannot be read by this user" in said
    finally:
        shutil.rmtree(folder)


@pytest.mark.req("read-only")
@pytest.mark.skipif(not may_mount(), reason="needs the right to mount: run as root on Linux")
def test_gc_says_that_it_cannot_write(shell: Shell, tmp_path: Path) -> None:
    home = shell.home
    asyncio.run(charging.begin(home, tmp_path / "ledger"))
    mounted = f"mount --bind {home} {home} && mount -o remount,ro,bind {home}"
    words = [sys.executable, "-m", "artificer", "--home", str(home), "--project", "p"]
    for command in ("gc", "prune"):
        rest = ["last", "--forever"] if command == "prune" else []
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", f'{mounted} && exec "$@"', "sh", *words, command, *rest],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3
        assert "journal.db" in done.stderr and "cannot be written" in done.stderr, done.stderr


@pytest.mark.req("read-only", "cli-runs")
async def test_where_there_is_no_world_none_is_made(shell: Shell) -> None:
    for command in ("runs", "verify", "fsck", "budget"):
        result = await shell.run(command)
        assert result.code == 0, result.err
    assert f"No runs in {shell.home}" in (await shell.run("runs")).err
    elsewhere = await shell.run("runs", env={"ARTIFICER_STORAGE": "memory"})
    assert "No runs in this world yet." in elsewhere.err, "no folder is where they would be"
    assert not shell.home.exists()


@pytest.mark.req("cli-find-first")
@pytest.mark.parametrize(
    "words",
    [
        ("tick", "r"),
        ("tick", "r", "todo", "milk"),
        ("resume", "r"),
        ("steer", "r", "Be brief."),
        ("follow-up", "r", "And then?"),
        ("fork", "r"),
        ("approve", "r"),
        ("resolve", "r", "--happened"),
        ("pause", "r"),
        ("interrupt", "r"),
        ("cancel", "last"),
        ("chat", "--resume", "r"),
        ("prune", "r"),
        ("build", "approve", "r"),
        ("build", "retry", "r"),
        ("build", "promote", "r"),
    ],
    ids=" ".join,
)
async def test_a_command_about_an_unknown_run_creates_no_world(
    shell: Shell, words: tuple[str, ...]
) -> None:
    result = await shell.run(*words)
    assert (result.code, result.err.splitlines()[0][:19]) == (3, "error: No run match")
    assert not shell.home.exists()
