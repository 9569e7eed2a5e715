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
from dataclasses import dataclass, field
from signal import Signals
from typing import NamedTuple

MARK = "ARTIFICER_TREE"
"""Environment variable by which a descendant is recognised after it left session and parents."""

TERM_GRACE = 1.0
"""Seconds between the request to end (SIGTERM) and the end (SIGKILL)."""

KILL_PATIENCE = 2.0
"""Seconds that killed processes get to disappear: one in an uninterruptible wait may not."""


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int
    started: int
    """Clock ticks since boot: with it, a number that was given anew is not taken for the old."""


@dataclass
class ProcessTree:
    """The tree below ``root``, a child of ours that leads a session of its own.

    ``mark`` is the value of MARK in its environment. The root must not have been reaped: as long
    as it is ours, its number cannot be given to a stranger.
    """

    root: int
    mark: str
    _seen: set[tuple[int, int]] = field(default_factory=set, init=False, repr=False)

    def members(self) -> set[int]:
        """The processes of the tree that are alive, the root among them."""
        if self._is_alone():
            return {self.root} if _read_process(str(self.root)) else set()
        living = _living()
        if not living:  # no /proc
            return {self.root} if self._has_group() else set()
        root = _read_process(str(self.root), zombies=True)
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
        """Send a signal to every member; those that are gone already are no error."""
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
        ending = asyncio.create_task(self._end(grace))
        cancelled: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return ending.result()

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

    def _is_alone(self) -> bool:
        """Whether no process at all was created after the root: then there is nothing to find."""
        try:
            newest = int(_read("/proc/loadavg").split()[-1])
        except (OSError, ValueError, IndexError):
            return False
        return newest == self.root

    def _has_group(self) -> bool:
        try:
            os.killpg(self.root, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _is_marked(self, pid: int) -> bool:
        try:
            environment = _read(f"/proc/{pid}/environ")
        except OSError:  # gone, or somebody else's
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


def _living() -> list[_Process]:
    """Every process of this machine that is not a zombie; empty without ``/proc``."""
    try:
        names = [entry.name for entry in os.scandir("/proc")]
    except OSError:
        return []
    return [p for name in names if name.isdigit() and (p := _read_process(name))]


def _read_process(pid: str, *, zombies: bool = False) -> _Process | None:
    try:
        # proc(5): pid (comm) state ppid pgrp session …; comm may hold any character.
        facts = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    if facts[0] in b"ZX" and not zombies:
        return None
    return _Process(int(pid), int(facts[1]), int(facts[3]), int(facts[19]))


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
