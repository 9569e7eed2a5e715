"""A caller and its waiting children, killed at every commit: nothing starts twice."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import preloaded
from artificer import World
from killed_family import NAMES, config
from sampling import sample

SCRIPT = Path(__file__).parent / "waiting_family.py"
COMMITS = {"while it begins": 8, "while it goes on": 12}
"""About how many commits a process makes, by what it does; fewer than twice as many."""

MOST = 30
"""More processes than a run takes."""


def go_on(folder: Path, kill: int) -> str:
    """Return the status of the run after a process, or nothing if it was killed."""
    words = [str(SCRIPT), str(folder / "home"), str(folder / "ledger"), str(kill)]
    done = preloaded.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode in (0, -9), done.stderr.decode()
    return "" if done.returncode else done.stdout.decode().strip()


async def sound(folder: Path) -> None:
    async with World.open(config(folder / "home")) as world:
        runs = await world.archive.runs()
        assert len(runs) == 1 + len(NAMES), "each child was started once"
        for name in runs:
            run = await world.get(name)
            assert (run.status, run.questions) == ("completed", ())
            assert (await world.archive.replay(name)).divergence is None
        results = (await world.get("r")).messages[2].blocks
        assert [b.content for b in results] == [f"{name} has it." for name in NAMES]  # type: ignore[union-attr]
        assert (await world.archive.verify()).problems == []
    paid = (folder / "ledger").read_text(encoding="utf-8").split()
    assert set(paid) == set(NAMES)


@pytest.mark.req("child-waits")
@pytest.mark.parametrize("killed", COMMITS)
async def test_a_process_killed_at_any_commit_starts_nothing_twice(
    killed: str, tmp_path: Path
) -> None:
    beyond = 2 * COMMITS[killed]
    for kill in [*sample(range(1, COMMITS[killed]), 4, purpose=killed), beyond]:
        folder = tmp_path / str(kill)
        folder.mkdir()
        if killed == "while it goes on":
            assert go_on(folder, 0) == "waiting"
        assert go_on(folder, kill) or kill != beyond, "it makes fewer commits than that"
        for _ in range(MOST):
            if go_on(folder, 0) == "completed":
                break
        await sound(folder)
