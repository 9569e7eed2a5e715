"""The interpreter itself as ``python``.

Where a version manager is installed, ``python`` is a script of it, which takes as long as a check.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def quick_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have programs find the interpreter first."""
    own = Path(sys.executable).resolve().parent
    if (own / "python").is_file():
        monkeypatch.setenv("PATH", os.pathsep.join([str(own), os.environ["PATH"]]))
