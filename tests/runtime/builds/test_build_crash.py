"""A build whose process dies at any write goes on as if nothing had been (invariants 2, 5 and 11).

Real processes, killed with SIGKILL. A build of three specs has about 1,500 points at which it may
die. Here each process dies after some hundred of its own, others for each commit; with
``ARTIFICER_CRASH_ALL=1`` there is also one build for every point of a quiet one, which takes hours.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from git_project import git, project
from parts import PROJECT

from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider
from artificer.world import World
from sampling import EXPLORE, SEED

pytestmark = pytest.mark.req("build-kill")

HERE = Path(__file__).parent
LIVES = (120, 160) if EXPLORE else (200, 400)
"""How many points a process lives, at least and at most."""

ALL = bool(os.environ.get("ARTIFICER_CRASH_ALL"))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a build."""

    status: str
    runs: frozenset[str]
    unfinished: tuple[str, ...]
    diverged: tuple[str, ...]
    sound: bool
    tree: str
    moved: bool
    worktrees: tuple[str, ...]
    asked_again: tuple[str, ...]
    project: str


@dataclass
class Crasher:
    """Lets processes drive builds, and die (build_crasher.py)."""

    process: subprocess.Popen[str]

    def drive(
        self,
        folder: Path,
        kill: int | None = None,
        *,
        job: str = "parts",
        torn: bool = False,
        over: bool = False,
    ) -> str:
        place = {"folder": str(folder), "job": job}
        scenario = {**place, "kill": kill, "torn": torn, "over": over}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(scenario) + "\n")
        self.process.stdin.flush()
        ended = self.process.stdout.readline().strip()
        errors = folder / "errors.txt"
        assert not errors.exists(), errors.read_text()
        return ended


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    with subprocess.Popen(
        [sys.executable, str(HERE / "build_crasher.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
    ) as process:
        yield Crasher(process)
        assert process.stdin
        process.stdin.close()


async def outcome(folder: Path) -> Outcome:
    config = Config(home=folder / "home", project="p", durability="process")
    async with World.open(config) as world:
        runs = await world.archive.runs()
        build = await world.get("b")
        states = {run: (await world.get(run)).status for run in runs}
        nobody = ScriptedProvider([])
        replays = {run: (await world.archive.replay(run, model=nobody)).identical for run in runs}
        sound = (await world.archive.verify()).sound
    repository, home = folder / "home/p/builds/b/repo.git", folder / "p"
    integration = git(repository, "rev-parse", "refs/build/integration")
    assert build.state.build is not None
    return Outcome(
        status=build.status,
        runs=frozenset(runs),
        unfinished=tuple(run for run, status in states.items() if status != "completed"),
        diverged=tuple(run for run, identical in replays.items() if not identical),
        sound=sound,
        tree=git(repository, "rev-parse", f"{integration}^{{tree}}"),
        moved=integration != build.state.build.integration,
        worktrees=tuple(path.name for path in (repository.parent / "work").iterdir()),
        asked_again=tuple(_asked_again(folder / "asked.txt")),
        project=f"{git(home, 'status', '--porcelain')} {git(home, 'rev-list', '--count', '--all')}",
    )


def _asked_again(log: Path) -> Iterator[str]:
    """The requests that were made after their reply had been recorded."""
    recorded = set[str]()
    for line in log.read_text(encoding="utf-8").splitlines():
        what, request = line.split()
        if what == "recorded":
            recorded.add(request)
        elif request in recorded:
            yield request


def begun(folder: Path) -> Path:
    """The folder with a project to build in, the same every time but for its place."""
    folder.mkdir()
    project(folder / "p", PROJECT)
    return folder


@dataclass(frozen=True)
class Quiet:
    """A build that nothing happened to, and its points."""

    outcome: Outcome
    points: tuple[str, ...]


@pytest.fixture(scope="module")
def quiet(crasher: Crasher, tmp_path_factory: pytest.TempPathFactory) -> Quiet:
    folder = begun(tmp_path_factory.mktemp("quiet") / "quiet")
    assert crasher.drive(folder) == "done"
    came_to = asyncio.run(outcome(folder))
    assert came_to.status == "completed" and len(came_to.runs) == 1 + 1 + 3 + 9 + 9
    assert not (came_to.unfinished or came_to.diverged or came_to.worktrees or came_to.moved)
    assert came_to.sound and not came_to.asked_again
    points = (folder / "points.txt").read_text(encoding="utf-8").splitlines()
    return Quiet(came_to, tuple(points))


async def test_killed_again_and_again_it_comes_to_the_same(
    crasher: Crasher, quiet: Quiet, tmp_path: Path
) -> None:
    """No process lives long: the next one dies while it takes up what the last one left."""
    folder, died = begun(tmp_path / "killed"), 0
    lives = random.Random(SEED)
    while crasher.drive(folder, lives.randint(*LIVES), torn=died % 3 == 2) != "done":
        died += 1
        assert died < 100, "it gets nowhere"
    assert died >= len(quiet.points) // LIVES[1]
    assert await outcome(folder) == quiet.outcome


async def test_killed_when_it_is_over_it_is_tidied_later(crasher: Crasher, tmp_path: Path) -> None:
    folder = begun(tmp_path / "killed")
    assert crasher.drive(folder, job="one", over=True) == "killed"
    left = await outcome(folder)
    assert left.status == "completed" and len(left.runs) == 1 + 1 + 1 + 3 + 3 and left.worktrees
    assert left.sound and not (left.unfinished or left.diverged or left.moved or left.asked_again)
    assert crasher.drive(folder, job="one") == "done"
    assert await outcome(folder) == replace(left, worktrees=())


@pytest.mark.skipif(not ALL, reason="hours: ARTIFICER_CRASH_ALL=1")
async def test_killed_at_any_point_it_comes_to_the_same(
    crasher: Crasher, quiet: Quiet, tmp_path: Path
) -> None:
    for number, point in enumerate(quiet.points, 1):
        for torn in (False, True)[: 1 + point.startswith("write ")]:
            folder = begun(tmp_path / "killed")
            assert crasher.drive(folder, number, torn=torn) in ("killed", "done")
            assert crasher.drive(folder) == "done"
            assert await outcome(folder) == quiet.outcome, (number, torn, point)
            shutil.rmtree(folder)
