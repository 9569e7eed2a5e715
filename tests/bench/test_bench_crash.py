"""The crash-consistency benchmark: it finds faults where there are some, and none here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from needs import needs
from sampling import EXPLORE, SEED, one_of

RUN = Path(__file__).parents[2] / "bench" / "crash" / "run.py"
pytestmark = [pytest.mark.req("crash-consistency"), pytest.mark.xdist_group("bench-crash")]


BESIDE = ("child run", "disk full", "torn", "clock")
"""Scenarios that are played beside the other ones: they take half of the time."""

OTHERS = (
    *("effect", "reply", "kill", "parallel", "approval", "stale"),
    *("late", "live", "frozen", "contenders"),
)

LIBRARIES = ("pydantic_ai", "langgraph", "openai_agents")
"""Each commit draws one: tests/test_guard.py kills agents of all of them."""


def trials(runtime: str, most: int, *scenarios: str) -> dict[str, dict[str, Any]]:
    """The rows of a runtime, by scenario: all of them, or those whose names begin so.

    A commit tries other points of a kind of failure than the next one.
    """
    command = [sys.executable, str(RUN), "--only", runtime, "--json"]
    command += ["--most", str(most * 4)] if EXPLORE else ["--most", str(most), "--seed", str(SEED)]
    command += ["--scenario", *scenarios] if scenarios else []
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout, ended.stderr
    (found,) = json.loads(ended.stdout).values()
    assert "failed" not in found, ended.stderr
    rows = {row["scenario"]: row for row in found["rows"]}
    untried = {name for name, row in rows.items() if "not" in row}
    allowed = {"child run pending", "approval pending"}
    if runtime != "artificer":
        allowed |= {name for name in rows if name.endswith("with a probe")}
    if shutil.which("cc") is None or sys.platform != "linux":
        allowed |= {"kill at every write", "disk full", "clock jump"}
    assert untried <= allowed
    return rows


@pytest.fixture(scope="module")
def ours() -> dict[str, dict[str, Any]]:
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(lambda each: trials("artificer", 4, *each), (BESIDE, OTHERS)))
    assert not found[0].keys() & found[1].keys()
    return {**found[0], **found[1]}


def test_nothing_is_duplicated_lost_misreported_or_paid_twice_and_every_run_ends(
    ours: dict[str, dict[str, Any]],
) -> None:
    assert {name: row for name, row in ours.items() if row["faults"]} == {}
    assert ours["approval pending"]["trials"] == 3
    assert ours["child run pending"]["trials"] >= 3
    assert ours["effect unrecorded"]["unsure"] == 2, "nobody could know, and it is said"


@pytest.mark.req("run-owner", "call-orphans")
def test_a_probe_settles_what_a_dead_owner_left(ours: dict[str, dict[str, Any]]) -> None:
    for scenario in ("late orphan", "contenders"):
        assert ours[scenario]["unsure"] > 0, "nobody could know, and it is said"
        assert ours[f"{scenario}, with a probe"]["unsure"] == 0
    for scenario in ("live resume", "frozen owner"):
        assert ours[scenario]["unsure"] == 0, "its owner goes on with it"


@pytest.mark.req("steady-clock")
@needs("cc")  # it makes the library that sets the clock
def test_a_clock_that_is_set_ends_no_run(ours: dict[str, dict[str, Any]]) -> None:
    row = ours["clock jump"]
    assert (row["trials"], row["faults"], row["unsure"]) == (8, 0, 0)


def test_a_loop_without_a_runtime_is_found_to_duplicate() -> None:
    rows = trials("plain_loop", 4)
    assert rows["effect unrecorded"]["duplicate"] == 2
    assert rows["stale owner"]["repaid"] > 0
    assert rows["clock jump"]["faults"] == 0
    for scenario in ("late orphan", "live resume", "frozen owner", "contenders"):
        assert rows[scenario]["duplicate"] > 0, scenario


@pytest.mark.req("guard-adapters")
@pytest.mark.parametrize("library", one_of(LIBRARIES, purpose="libraries that are killed"))
def test_agents_of_other_libraries_with_guarded_tools_repeat_nothing(library: str) -> None:
    rows = trials(f"guarded_{library}", 3, "effect unrecorded", "kill at", "approval")
    for name, row in rows.items():
        if "not" not in row:
            found = {key: row[key] for key in ("duplicate", "lost", "misreported", "unrecoverable")}
            assert set(found.values()) == {0}, (name, found)
    assert rows["effect unrecorded"]["unsure"] == 2, "nobody could know, and the model learns it"
    assert rows["approval pending"]["trials"] == 3
