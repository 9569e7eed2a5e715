"""Helpers for the tests of tools: watching files that processes write to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from artificer.backends.process.environment import child_environment
from artificer.backends.process.run import run_process

WRITER = "import sys,time\nwhile True: open(sys.argv[1],'a').write('x'); time.sleep(0.02)"
"""A Python script that keeps on writing to the file it is given."""


def size(path: Path) -> int:
    """The file's size; 0 for one that is not there."""
    return path.stat().st_size if path.exists() else 0


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(entry.name for entry in folder.iterdir())


@contextmanager
def standard_input(data: bytes) -> Iterator[None]:
    """Give this very process something to read, which no tool may take."""
    readable, writable = os.pipe()
    saved = os.dup(0)
    os.write(writable, data)
    os.dup2(readable, 0)
    try:
        yield
    finally:
        os.dup2(saved, 0)
        for descriptor in (readable, writable, saved):
            os.close(descriptor)


async def stays(path: Path, seconds: float = 0.3) -> bool:
    """Whether a file that something appended to has stopped growing."""
    before = size(path)
    await asyncio.sleep(seconds)
    return before > 0 and size(path) == before


LONGER_S = (0.5, 1, 2, 4, 8, 16)
"""Times to try one after the other, until what is to end had begun: on a busy machine it is slow.
"""


async def appears(path: Path) -> None:
    """Wait until a file has something in it."""
    for _ in range(2_000):
        if size(path):
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{path} stayed empty")


async def commit_all(folder: Path) -> None:
    """Make a folder a repository with one commit of what is in it."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "a first commit"]):
        finished = await run_process(
            ["git", *command], env=child_environment(os.environ), cwd=folder, seconds=30
        )
        assert finished.exit_code == 0, finished.stderr.text
