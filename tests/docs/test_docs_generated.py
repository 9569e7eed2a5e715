"""The generated parts of the docs are current, and nothing in them is left unexplained."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.req("docs-run-states", "settings-reference")
def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.req("settings-reference")
def test_every_setting_is_described() -> None:
    reference = runpy.run_path(str(DOCS / "settings_reference.py"))
    assert reference["undescribed"]() == [], "describe it in docs/settings_reference.toml"
