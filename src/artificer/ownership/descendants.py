"""Processes that functions of a dead runtime had started: no keeper ended them, and they may act.

A function that runs inside the runtime starts its processes without us. They inherit the runtime's
environment, which names its owners as soon as such a function is called. A process that takes the
name out of its environment is not found, nor is any where there is no ``/proc``.

A process that is only forked (multiprocessing) shows the environment with which the runtime was
started. It inherits a lock instead, which the runtime takes before such a fork.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from artificer.ownership.fifo import hold
from artificer.ports import CallLocks

log = logging.getLogger("artificer.ownership")

MARK = "ARTIFICER_OWNERS"
"""The environment variable that names the owners in the runtime that started a process."""

_to_hold: set[Path] = set()
_held: dict[Path, int] = {}


def mark_descendants(locks: CallLocks) -> None:
    """Let every process that this one starts or forks from now on show the owner of a call."""
    names = os.environ.get(MARK, "").split()
    if locks.owner not in names:
        os.environ[MARK] = " ".join((*names, locks.owner))
    if locks.forked is not None:
        _to_hold.add(locks.forked)


def release_forked(path: Path) -> None:
    """Give up the lock of forked processes here; those that hold it keep it."""
    _to_hold.discard(path)
    if (descriptor := _held.pop(path, None)) is not None:
        os.close(descriptor)


def _before_fork() -> None:
    for path in _to_hold - _held.keys():
        try:
            _held[path] = hold(path)
        except OSError as error:
            log.warning("a forked process has no lock %s: %s", path, error)


os.register_at_fork(before=_before_fork)


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
