"""The runtime's side of a keeper: what it started, and the leash that ends it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from artificer.backends.process import keeper
from artificer.backends.process.keepers import KEEPERS, drop_leash
from artificer.backends.process.tree import KILL_PATIENCE, TERM_GRACE, read_process
from artificer.system.tasks import shielded

log = logging.getLogger("artificer.backends.process.kept")

START_SECONDS = 30
"""How long a keeper may take to say that it has started something."""


@dataclass(frozen=True)
class Held:
    """A Landlock ruleset that a program is held by: its descriptor, and how it is enforced."""

    ruleset: int
    flags: int
    drop: bool


class Kept:
    """A process that a keeper started. :meth:`end` must be called."""

    def __init__(self, leash: socket.socket) -> None:
        """Raises OSError when the keeper could not start the process."""
        self._leash = leash
        self._received = b""
        self._ready: asyncio.Future[None] | None = None
        self.returncode: int | None = None
        leash.settimeout(START_SECONDS)
        while b"\n" not in self._received:
            try:
                data = leash.recv(256)
            except OSError as error:
                self._let_go()
                raise OSError(errno.ETIMEDOUT, "its keeper does not answer") from error
            if not data:
                self._let_go()
                raise OSError(errno.EAGAIN, "its keeper could not be started")
            self._received += data
        word, number, *more = self._next()
        if word == b"failed":
            KEEPERS.give_back(leash)
            raise OSError(int(number), os.strerror(int(number)))
        self.pid, self._keeper = int(number), int(more[0])
        leash.setblocking(False)

    def _next(self) -> list[bytes]:
        line, _, self._received = self._received.partition(b"\n")
        return line.split()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None as long as the process runs."""
        if self.returncode is None and self._receive():  # its keeper was killed, and it with that
            self.returncode = -signal.SIGKILL
        return self.returncode

    def _receive(self) -> bool:
        """Take the keeper's messages; return whether it is gone."""
        if self._leash.fileno() < 0:
            return False
        gone = False
        with contextlib.suppress(BlockingIOError):
            try:
                while data := self._leash.recv(256):
                    self._received += data
                gone = True
            except ConnectionResetError:
                gone = True
        if b"\n" in self._received:
            self.returncode = int(self._next()[1])
        return gone

    async def exited(self) -> None:
        """Wait until it has ended."""
        while self.poll() is None and self._leash.fileno() >= 0:
            await self._readable()

    async def _readable(self) -> None:
        """Wait until the keeper says something, or the leash is closed. For any number of tasks."""
        if self._ready is None:
            loop = asyncio.get_running_loop()
            self._ready = loop.create_future()
            loop.add_reader(self._leash, self._wake)
        await asyncio.wait((self._ready,))

    def _wake(self) -> None:
        ready, self._ready = self._ready, None
        if ready is not None:
            ready.get_loop().remove_reader(self._leash)
            ready.set_result(None)

    def members(self) -> set[int]:
        """The descendants of the keeper that are alive: the process, and all that it started."""
        found: set[int] = set()
        waiting = [self._keeper]
        while waiting:
            children = set(keeper.children_of(waiting.pop())) - found
            living = {pid for pid in children if read_process(pid) is not None}
            found |= living
            waiting += living
        return found

    def signal(self, number: Signals) -> None:
        """Send a signal to every descendant."""
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End all of it at once, without waiting for that."""
        self._let_go()

    async def end(self, grace: float = TERM_GRACE) -> bool:
        """Ask all that is left to end, then make it; return whether all has ended.

        The keeper of what had ended by itself may take another moment. Not cut short: a
        cancellation meanwhile is raised when it is done.
        """
        return self._is_over() or await shielded(self._end(grace))

    def _is_over(self) -> bool:
        """Whether it has ended and left nothing. Its keeper may then serve another call."""
        if self._leash.fileno() >= 0:
            if self.poll() is None or self.members():
                return False
            self._wake()
            KEEPERS.give_back(self._leash)
        return True

    async def _end(self, grace: float) -> bool:
        if not self.members():  # so it has ended, and its keeper is about to say how
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KILL_PATIENCE):
                    await self.exited()
        if self._is_over():
            return True
        loop = asyncio.get_running_loop()
        self.signal(signal.SIGTERM)
        deadline, pause = loop.time() + grace, 0.001
        while self.members() and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)
        return await self._gone()

    async def _gone(self) -> bool:
        """Release the leash, and wait for the keeper to end what is left, and itself."""
        with contextlib.suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)
        try:
            async with asyncio.timeout(KILL_PATIENCE):
                while not self._receive():
                    await self._readable()
        except TimeoutError:
            return False
        finally:
            self._let_go()
        return True

    def _let_go(self) -> None:
        self._wake()
        drop_leash(self._leash)


def can_keep() -> bool:
    """Whether this system has what a keeper needs."""
    return hasattr(os, "pidfd_open") and Path("/proc/self/stat").exists()


def start_kept(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    streams: tuple[int, int, int],
    locks: Sequence[int] = (),
    held: Held | None = None,
) -> Kept:
    """Start a program under a keeper, in its own session, with these standard streams.

    It inherits the locks and nothing else. Raises OSError when it cannot be started.
    """
    message = keeper.encoded(
        argv,
        env,
        str(cwd.absolute()),  # the program that forks keepers has another
        None if held is None else held.flags,
        drop=held is not None and held.drop,
    )
    ours = KEEPERS.take()
    try:
        descriptors = [*streams, *locks, *([held.ruleset] if held else [])]
        ours.settimeout(START_SECONDS)
        sent = socket.send_fds(ours, [message], descriptors)
        ours.sendall(message[sent:])
    except OSError:
        drop_leash(ours)
        raise
    return Kept(ours)
