"""Values that several threads read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import preloaded

SCRIPT = Path(__file__).parent / "first_readers.py"


@pytest.mark.req("values-threads")
def test_threads_read_types_for_the_first_time_at_once() -> None:
    done = preloaded.run([str(SCRIPT)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
