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
