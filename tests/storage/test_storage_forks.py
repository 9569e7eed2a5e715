"""A fork takes nothing from those who write a journal that its parent had open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("forker.py")


@pytest.mark.req("journal-forks")
def test_a_fork_neither_opens_a_journal_of_its_parents_nor_removes_its_log(tmp_path: Path) -> None:
    """A whole interpreter: what closes the connections is its end."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path / "journal.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split("\n") == ["writing author", "again author", "kept", ""], done.stderr


CACHE = """
import os, sys
from pathlib import Path
from artificer.errors import OperatorError
from artificer.storage.sqlite.snapshots import SqliteSnapshots

snapshots = SqliteSnapshots(Path(sys.argv[1]))
snapshots.put("a", b"1", 0, b"x")
if os.fork() == 0:
    try:
        SqliteSnapshots(Path(sys.argv[1])).put("a", b"2", 0, b"y")
    except OperatorError as error:
        print(error.message, flush=True)
    sys.exit()
os.wait()
print(snapshots.get("a"))
"""


@pytest.mark.req("journal-forks")
def test_nor_does_it_open_a_cache_of_its_parents(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CACHE, str(tmp_path / "snapshots.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    refused, kept = done.stdout.splitlines()
    assert "forked" in refused and kept == "(b'1', [b'x'])", done.stderr
