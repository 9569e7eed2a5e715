"""Durability, as the operating system sees it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SYNCER = str(Path(__file__).parent / "syncer.py")


@pytest.mark.req("journal-durability")
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
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
