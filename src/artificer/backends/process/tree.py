"""A child process with all that it started, and how to end the whole of it (invariant 10).

Who belongs to the tree is found in three ways, because each can be left on its own: the session
(``setsid`` leaves it), the chain of parents (an orphan leaves it) and a mark in the environment
(``env -i`` leaves it). Where there is no ``/proc``, only the process group can be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from signal import Signals
from typing import NamedTuple

from artificer.system.tasks import shielded

MARK = "ARTIFICER_TREE"
"""Environment variable by which a descendant is recognised after it left session and parents."""

TERM_GRACE = 1.0
"""Seconds between the request to end (SIGTERM) and the end (SIGKILL)."""

SURELY_NO_LAP = 0.1
"""Seconds in which a machine cannot use up all process numbers and start again."""

KILL_PATIENCE = 2.0
"""Seconds that killed processes get to disappear: one in an uninterruptible wait may not."""


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int
    started: int
    """Clock ticks since boot: it distinguishes a reused process number from the old one."""


@dataclass
class ProcessTree:
    """The tree below ``root``, a child of ours that leads its own session.

    ``mark`` is the value of MARK in its environment. The root must not have been reaped: as long
    as it is ours, its number cannot be given to a stranger.
    """

    root: int
    mark: str
    _seen: set[tuple[int, int]] = field(default_factory=set, init=False, repr=False)
    _since: float = field(default_factory=time.monotonic, init=False, repr=False)

    def members(self) -> set[int]:
        """The processes of the tree that are alive, the root among them."""
        if _newest() == self.root:  # no process at all was created after it
            return {self.root} if self._is_running() else set()
        numbers, newest = _numbers(), _newest()
        if newest is None:  # no /proc
            return {self.root} if self._has_group() else set()
        if time.monotonic() - self._since < SURELY_NO_LAP:
            numbers = [n for n in numbers if self._is_younger(n, newest)]
        living = [p for n in numbers if (p := read_process(n))]
        root = read_process(self.root, zombies=True)
        began = root.started if root else 0
        processes = [p for p in living if p.started >= began]
        found = {
            p.pid
            for p in processes
            if self.root in (p.pid, p.session) or (p.pid, p.started) in self._seen
        }
        found |= {p.pid for p in processes if p.pid not in found and self._is_marked(p.pid)}
        grown = True
        while grown:
            children = {p.pid for p in processes if p.parent in found} - found
            found |= children
            grown = bool(children)
        self._seen |= {(p.pid, p.started) for p in processes if p.pid in found}
        return found

    def signal(self, number: Signals) -> None:
        """Send a signal to every member; it is not an error if some are gone already."""
        members = self.members()  # first: the root's end would cut the chain to its orphans
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.root, number)
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    async def end(self, grace: float = TERM_GRACE) -> bool:
        """Ask all members to end, then make them; return whether they are all gone.

        Takes at most ``grace`` and KILL_PATIENCE, and is not cut short: a cancellation meanwhile
        is raised when it is done.
        """
        return await shielded(self._end(grace))

    async def _end(self, grace: float) -> bool:
        self.signal(signal.SIGTERM)
        if await self._gone_within(grace):
            return True
        return await self._gone_within(KILL_PATIENCE, again=signal.SIGKILL)

    async def _gone_within(self, seconds: float, again: Signals | None = None) -> bool:
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + seconds, 0.001
        while self.members():
            if loop.time() >= deadline:
                return False
            if again is not None:  # a member may have forked while the others were being killed
                self.signal(again)
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True

    def _is_younger(self, number: int, newest: int) -> bool:
        """Whether a number was given out after the root's: they are given out in a circle."""
        if self.root <= newest:
            return self.root <= number <= newest
        return number >= self.root or number <= newest

    def _is_running(self) -> bool:
        try:
            return os.waitid(os.P_PID, self.root, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # the program reaps all its children itself (SIGCHLD is ignored)
            return False

    def _has_group(self) -> bool:
        try:
            os.killpg(self.root, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _is_marked(self, pid: int) -> bool:
        try:
            environment = _read(f"/proc/{pid}/environ")
        except OSError:  # gone, or someone else's
            return False
        return f"{MARK}={self.mark}".encode() in environment.split(b"\0")


async def exit_of(pid: int) -> None:
    """Wait until a child has exited, without reaping it."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or not permitted
        # The thread ends with the child, which never outlives its call.
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _set, exited)
    try:
        await exited
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _newest() -> int | None:
    """The number of the process or thread that was created last; None without ``/proc``."""
    try:
        return int(_read("/proc/loadavg").split()[-1])
    except (OSError, ValueError, IndexError):
        return None


def _numbers() -> list[int]:
    """The numbers of all processes of this machine; empty without ``/proc``."""
    try:
        return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return []


def read_process(pid: int, *, zombies: bool = False) -> _Process | None:
    """Return the facts about a process, None if it has ended; a zombie counts with ``zombies``."""
    try:
        # proc(5): pid (comm) state ppid pgrp session …; comm may hold any character.
        facts = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    if facts[0] in b"ZX" and not zombies:
        return None
    return _Process(pid, int(facts[1]), int(facts[3]), int(facts[19]))


def _read(path: str) -> bytes:
    """A file of ``/proc``, without the cost of a file object: there are hundreds to read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(descriptor, 1 << 16):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)
