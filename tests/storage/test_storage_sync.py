"""Durability, as the operating system sees it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from needs import needs

SYNCER = str(Path(__file__).parent / "syncer.py")


@pytest.mark.req("journal-durability")
@needs("strace")
@pytest.mark.parametrize(("durability", "syncs"), [("power", 5), ("process", 0)])
def test_syncs_of_five_appends(tmp_path: Path, durability: str, syncs: int) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)]
    path = str(tmp_path / "journal.db")
    command = [*strace, sys.executable, SYNCER, path, durability]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("this machine allows no tracing")
    between = trace.read_text().split('"MARK')[1]
    assert len(re.findall(r"(?:fsync|fdatasync)\(\d+<[^>]*journal\.db-wal", between)) == syncs


@pytest.mark.req("journal-designed-errors")
@needs("strace")
def test_a_folder_that_cannot_be_synced(tmp_path: Path) -> None:
    """SQLite calls fdatasync: the one fsync is ours, of the folder of a new journal."""
    strace = ["strace", "-f", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO"]
    trace = ["-o", str(tmp_path / "trace")]
    path = str(tmp_path / "new" / "journal.db")
    command = [*strace, *trace, sys.executable, SYNCER, path, "power"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("this machine allows no tracing")
    error, hint = done.stderr.splitlines()[-2:]
    assert "OperatorError: The folder" in error and "Check the disk" in hint
    assert "cannot be synced" in done.stderr
