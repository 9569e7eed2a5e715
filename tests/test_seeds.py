"""The examples of properties: the same in every run, unless more are asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROPERTY = """
import pytest
from hypothesis import given, settings, strategies as st

DRAWN = []

@pytest.mark.parametrize("side", [1, 2])
@given(st.integers())
@settings(max_examples=7)
def test_it(side, number):
    DRAWN.append(number)

def test_drawn():
    print("DRAWN", len(DRAWN), DRAWN)
"""


def drawn(folder: Path, **environment: str) -> tuple[int, str]:
    """Run a property of seven examples, twice, and return what it drew."""
    shutil.copy(Path(__file__).parent / "conftest.py", folder)
    (folder / "test_property.py").write_text(PROPERTY, encoding="utf-8")
    usual = {name: value for name, value in os.environ.items() if name != "ARTIFICER_EXPLORE"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env={**usual, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [line for line in done.stdout.splitlines() if "DRAWN" in line]
    _, _, told = line.partition("DRAWN ")
    count, _, numbers = told.partition(" ")
    return int(count), numbers


@pytest.mark.req("tests-deterministic")
def test_a_property_draws_the_same_examples_in_every_run(tmp_path: Path) -> None:
    first, second = drawn(tmp_path), drawn(tmp_path)
    assert first == second and first[0] == 14


@pytest.mark.req("tests-deterministic")
def test_exploring_draws_more_and_others(tmp_path: Path) -> None:
    first = drawn(tmp_path, ARTIFICER_EXPLORE="3")
    second = drawn(tmp_path, ARTIFICER_EXPLORE="3")
    assert first[0] == second[0] == 42
    assert first != second
