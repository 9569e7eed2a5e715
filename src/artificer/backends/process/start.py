"""Starting a program: under a keeper where the system has what that needs, else by ourselves."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from artificer.backends.process.kept import Held, can_keep, start_kept
from artificer.backends.process.tree import MARK, TERM_GRACE, ProcessTree, exit_of
from artificer.ownership.fifo import holding


class Process(Protocol):
    """A program that was started, with all that it starts. :meth:`end` must be called."""

    returncode: int | None
    """The exit code, negative for a signal; None as long as no end is known."""

    @property
    def pid(self) -> int:
        """The number of the process."""

    def poll(self) -> int | None:
        """See whether it has ended, and how."""

    async def exited(self) -> None:
        """Wait until it has ended."""

    def members(self) -> set[int]:
        """The processes of its tree that are alive."""

    async def end(self, grace: float = TERM_GRACE) -> bool:
        """Ask all that is left to end, then make it; return whether all is gone."""

    def kill(self) -> None:
        """End it at once."""


class Child:
    """A child of ours. What leaves its session, its parents and its environment is not found."""

    def __init__(self, pid: int, mark: str) -> None:
        self._tree = ProcessTree(pid, mark)
        self.returncode: int | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._tree.root

    def poll(self) -> int | None:
        """See whether it has ended, and reap it."""
        if self.returncode is None:
            try:
                reaped, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # the program reaps all its children (SIGCHLD is ignored)
                reaped, status = self.pid, 0
            self.returncode = os.waitstatus_to_exitcode(status) if reaped else None
        return self.returncode

    async def exited(self) -> None:
        """Wait until it has ended, without reaping it."""
        await exit_of(self.pid)

    def members(self) -> set[int]:
        """The processes of its tree that are alive."""
        return self._tree.members()

    async def end(self, grace: float = TERM_GRACE) -> bool:
        """Ask all that is left to end, then make it; return whether all is gone."""
        try:
            return not self._tree.members() or await self._tree.end(grace)
        finally:
            self.poll()

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    streams: tuple[int, int, int],
    lock: Path | None = None,
    held: Held | None = None,
) -> Process:
    """Start a program in its own session, with these standard streams and this environment.

    ``lock`` is what it holds as long as anything of it lives, and ``held`` what it may not leave.
    Raises OSError or ValueError when it cannot be started.
    """
    mark = secrets.token_hex(8)
    env = {**env, MARK: mark}
    with holding(lock) as locks:
        if can_keep():
            return start_kept(argv, env=env, cwd=cwd, streams=streams, locks=locks, held=held)
        if held is not None:
            raise OSError(errno.ENOSYS, "Landlock needs /proc and pidfd_open")
        stdin, stdout, stderr = streams
        process = subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=locks,
        )
    process.returncode = 0  # it is not this object that reaps it
    return Child(process.pid, mark)
