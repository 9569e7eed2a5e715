"""A worker that is killed at any commit, while workers execute a run and those that it called."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from children_suite import results, sound
from dispatched_family import NAME, family

import preloaded
from artificer import World
from killed_family import NAMES, config
from sampling import sample

SCRIPT = Path(__file__).parent / "dispatched_family.py"

COMMITS = {"pays": range(1, 17), "cancelled": range(1, 14)}
"""The commits of a worker that is not killed."""


def work(folder: Path, kill: int, how: str) -> bool:
    """Let a worker work until nothing goes on, and say whether it was killed before that."""
    words = [str(SCRIPT), str(folder / "home"), str(folder / "ledger"), str(kill), how]
    done = preloaded.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode in (0, -9), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.req("dispatched-children-crash")
@pytest.mark.parametrize("how", ["pays", "cancelled"])
async def test_what_a_killed_worker_leaves_is_brought_to_its_end(how: str, tmp_path: Path) -> None:
    """Each child begins once, and pays once; the caller reads what became of it, or is over."""
    for kill in sample(COMMITS[how], 3, purpose=how):
        folder = tmp_path / str(kill)
        folder.mkdir()
        async with World.open(config(folder / "home")) as world:
            agent = family(folder / "ledger", how)
            await world.submit("Pay.", agent, name=NAME, run_id="r")
        work(folder, kill, how)
        assert not work(folder, 0, how)
        async with World.open(config(folder / "home")) as world:
            run = await world.get("r")
            below = [child.run for child in await world.archive.children("r")]
            states = [(await world.get(child)).status for child in below]
            await sound(world)
        ledger = folder / "ledger"  # absent when it was killed before both payments: ambiguous
        paid = ledger.read_text(encoding="utf-8").split() if ledger.exists() else []
        if how == "cancelled":
            assert (run.status, states) == ("cancelled", ["cancelled"] * 2)
            continue
        assert (run.status, states) == ("completed", ["completed"] * 2)
        assert results(run) == [("ok", f"{name} has it.") for name in NAMES]
        assert sorted(paid) == sorted(set(paid))
