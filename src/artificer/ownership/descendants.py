"""Processes that functions of a dead runtime had started: no keeper ended them, and they may act.

A function that runs inside the runtime starts its processes without us. They inherit the runtime's
environment, which names its owners as soon as such a function is called. A process that takes the
name out of its environment is not found, nor is any where there is no ``/proc``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MARK = "ARTIFICER_OWNERS"
"""The environment variable that names the owners in the runtime that started a process."""


def mark_descendants(owner: str) -> None:
    """Let every process that this one starts from now on name an owner."""
    names = os.environ.get(MARK, "").split()
    if owner not in names:
        os.environ[MARK] = " ".join((*names, owner))


def descendants(of: Callable[[str], bool]) -> list[int]:
    """Return the living processes that name an owner of which ``of`` is true."""
    return sorted(pid for pid in _numbers() if pid != os.getpid() and any(map(of, _owners(pid))))


def _numbers() -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    return []


def _owners(pid: int) -> list[str]:
    """Return the owners that a process names; none of a process that is gone or not ours."""
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == MARK.encode():
                return value.decode(errors="replace").split()
    return []
