"""Programs without the rights by which root may remove any file."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

RIGHTS = "-dac_override,-dac_read_search,-fowner,-chown"
"""The capabilities by which root may remove any file."""

SETPRIV = ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]


def can_lose_rights() -> bool:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    return subprocess.run([*SETPRIV, "true"], check=False, capture_output=True).returncode == 0


LOSING = SETPRIV if can_lose_rights() else []
"""The beginning of a command that has only the rights of the owner of its files."""

needs_two_users = pytest.mark.skipif(
    not LOSING, reason="needs a file of another user, and setpriv: run as root on Linux"
)
