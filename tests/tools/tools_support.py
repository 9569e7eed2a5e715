"""What the tests of tools share: watching files that processes write to."""

from __future__ import annotations

import asyncio
from pathlib import Path

WRITER = "import sys,time\nwhile True: open(sys.argv[1],'a').write('x'); time.sleep(0.02)"
"""A Python script that keeps on writing to the file it is given."""


def size(path: Path) -> int:
    """The file's size; 0 for one that is not there."""
    return path.stat().st_size if path.exists() else 0


def names_in(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(entry.name for entry in folder.iterdir())


async def stays(path: Path, seconds: float = 0.3) -> bool:
    """Whether a file that something appended to has stopped growing."""
    before = size(path)
    await asyncio.sleep(seconds)
    return before > 0 and size(path) == before


async def appears(path: Path) -> None:
    """Wait until a file has something in it."""
    for _ in range(2_000):
        if size(path):
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{path} stayed empty")
