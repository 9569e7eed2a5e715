"""Temporary files in memory, where this system has a folder for that with room for them.

Tests make many small files, and their databases sync thousands of times. On a disk, tests of builds
need a twelfth more of the processors' time for that, and wait. ``TMPDIR=/tmp`` has the files on the
disk, where those of a test that failed can be looked at.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
"""Where files are in memory, on Linux."""

PREFIX = "artificer-tests-"

NEW_SECONDS = 60
"""A folder younger than this may not be locked yet."""

ROOM = 4 << 30
"""The bytes that must be free. All tests together need a fraction of that."""


def has_room(folder: Path) -> bool:
    """Whether programs can be written there and started, and many files fit."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= ROOM


def use(config: pytest.Config) -> None:
    """Let this process and those that it starts make their temporary files in memory."""
    if "TMPDIR" in os.environ or config.option.basetemp or not has_room(MEMORY):
        return
    for left in MEMORY.glob(f"{PREFIX}*"):
        _remove_left(left)
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=MEMORY)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    Path(folder).chmod(0o1777)  # for every user, as /tmp is
    config.add_cleanup(lambda: os.close(held))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None  # read the variable again


def _remove_left(folder: Path) -> None:
    """Remove the folder of a run that was killed: nobody holds its lock."""
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime < NEW_SECONDS:
            return
        held = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(held)
