"""A shell for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
