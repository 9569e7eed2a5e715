"""The examples of properties: the same for a commit, others for the next, more on request."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import sampling
from in_memory import MEMORY, PREFIX, has_room
from sampling import sample

HERE = Path(__file__).parent
PROPERTY = """
import pytest
from hypothesis import given, settings, strategies as st

DRAWN = []

@pytest.mark.parametrize("side", [1, 2])
@given(st.integers())
@settings(max_examples=8)
def test_it(side, number):
    DRAWN.append(number)

def test_drawn():
    print("DRAWN", len(DRAWN), DRAWN)
"""
SKIPPED = """
import pytest
from needs import require

def test_one():
    require("nosuchprogram")

def test_two():
    require("the embedded model", False)
"""
PLACES = """
import tempfile

def test_places(tmp_path):
    print("PLACE", tempfile.gettempdir())
    print("PLACE", tmp_path)
"""


def outcome_of(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a module with our settings."""
    (folder / "tests").mkdir(exist_ok=True)
    shutil.copy(HERE / "conftest.py", folder / "tests")
    (folder / "tests" / "test_it.py").write_text(text, encoding="utf-8")
    usual = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *plugins, "tests"],
        cwd=folder,
        env={
            **usual,
            "PYTHONPATH": str(HERE),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # importing all that are installed takes seconds
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


SETTINGS = ("ARTIFICER_EXPLORE", "CI")
PLUGINS = ("_hypothesis_pytestplugin", "xdist.plugin")
"""Those that our settings are for."""


def drawn(folder: Path, **environment: str) -> tuple[int, str]:
    """Run a property of eight examples, twice, and return what it drew."""
    done = outcome_of(folder, PROPERTY, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"DRAWN (\d+) (.*)", done.stdout)
    assert found, done.stdout
    return int(found[1]), found[2]


@pytest.mark.req("tests-deterministic")
def test_a_commit_draws_the_same_examples_in_every_run_and_another_one_others(
    tmp_path: Path,
) -> None:
    first, second = drawn(tmp_path, ARTIFICER_SEED="7"), drawn(tmp_path, ARTIFICER_SEED="7")
    assert first == second and first[0] == 8
    assert drawn(tmp_path, ARTIFICER_SEED="8") != first


@pytest.mark.req("tests-deterministic")
def test_exploring_draws_more_and_others(tmp_path: Path) -> None:
    first = drawn(tmp_path, ARTIFICER_EXPLORE="3")
    second = drawn(tmp_path, ARTIFICER_EXPLORE="3")
    assert first[0] == second[0] == 48
    assert first != second


@pytest.mark.req("tests-deterministic")
def test_a_sample_has_both_ends_and_stays_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EXPLORE", 0)
    drawn = sample(range(100), 10, purpose="here")
    assert len(drawn) == 10 and drawn == sorted(drawn) and {0, 99} <= set(drawn)
    assert drawn == sample(range(100), 10, purpose="here")
    assert sample("abc", 10, purpose="here") == ["a", "b", "c"]


def places(folder: Path, **environment: str) -> list[Path]:
    """Return where a run makes its temporary files."""
    done = outcome_of(folder, PLACES, **environment)
    found = [Path(name) for name in re.findall("PLACE (.*)", done.stdout)]
    assert len(found) == 2, done.stdout + done.stderr
    return found


@pytest.mark.req("tests-in-memory")
def test_temporary_files_are_in_memory_where_it_has_room_and_go_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    for place in places(tmp_path):
        assert place.is_relative_to(MEMORY) == has_room(MEMORY)
        assert not (place.is_relative_to(MEMORY) and place.exists())
    for place in places(tmp_path, TMPDIR=str(tmp_path)):
        assert place.is_relative_to(tmp_path) and place.exists()


@pytest.mark.req("tests-in-memory")
def test_what_a_killed_run_left_in_memory_goes_and_what_a_run_holds_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    if not has_room(MEMORY):
        assert not places(tmp_path)[0].is_relative_to(MEMORY)
        return
    left, held = (Path(tempfile.mkdtemp(prefix=PREFIX, dir=MEMORY)) for _ in range(2))
    for folder in (left, held):
        os.utime(folder, (0, 0))
    descriptor = os.open(held, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    places(tmp_path)
    assert (left.exists(), held.exists()) == (False, True)
    os.close(descriptor)
    held.rmdir()


@pytest.mark.req("tests-skipped")
def test_the_last_lines_say_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    done = outcome_of(tmp_path, SKIPPED)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [
        "1 skipped for want of nosuchprogram: apt-get install nosuchprogram",
        "1 skipped for want of the embedded model: artificer local fetch",
    ]


@pytest.mark.req("tests-skipped")
def test_in_ci_a_skipped_test_fails(tmp_path: Path) -> None:
    done = outcome_of(tmp_path, SKIPPED, CI="1")
    assert done.returncode == 1 and "2 failed" in done.stdout
    whole = outcome_of(tmp_path, "import pytest\npytest.importorskip('nosuchmodule')", CI="1")
    assert whole.returncode == 2, whole.stdout


@pytest.mark.req("tests-groups")
@pytest.mark.xdist_group("shape")
def test_the_tests_of_a_group_stay_in_one_worker(request: pytest.FixtureRequest) -> None:
    """pytest-xdist writes the group into the name by which it hands out a test, where it can."""
    if request.config.getoption("loadgroup", default=False):
        assert request.node.nodeid.endswith("@shape")
