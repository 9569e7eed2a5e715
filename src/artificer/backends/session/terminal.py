"""A program on its own terminal (a PTY), reached by what it reads and writes there.

Not by ``pty.fork``, and so not by the libraries that build on it: forking a process that has
threads and much memory is slow, and may deadlock before the program begins. The program is
spawned as every other is, by way of a few lines of Python that make the terminal its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from artificer.backends.process.capture import Capture
from artificer.backends.process.confinement import UNCONFINED, Confinement
from artificer.backends.process.kept import Held
from artificer.backends.process.pipes import PipeReader
from artificer.backends.process.start import Process, start
from artificer.manifests.keys import LimitKeys

SETTLE = 0.05
"""Seconds of silence after which a prompt is believed: what is printed next may follow it."""

DRAIN_GRACE = 0.2
"""Seconds for the last output of a program that has ended."""

LAST_BYTES = 4096
"""Bytes in which the last line is looked for."""

_ROWS, _COLUMNS = 50, 1000  # wide: what breaks lines at the edge would break results

_ATTACH = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and exec would hand it on
    signal.signal(ignored, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """One program with its terminal. :meth:`end` must be called, and ends all that it started."""

    def __init__(self, process: Process, descriptor: int) -> None:
        self._process = process
        self._descriptor = descriptor
        self._output = Capture()
        self._last = b""
        self._changed = asyncio.Event()
        self._reader = PipeReader(descriptor, self._take)
        self._reader.ended.add_done_callback(lambda _: self._changed.set())
        self.exit = asyncio.ensure_future(process.exited())
        self.exit.add_done_callback(lambda _: self._changed.set())

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        limits: LimitKeys,
        confinement: Confinement = UNCONFINED,
        lock: Path | None = None,
    ) -> Terminal:
        """Start a program, which holds the lock. Raises OSError when that cannot be done."""
        env = {**env, **confinement.env}
        if not _is_there(argv[0], env, cwd):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        ours, theirs = os.openpty()
        streams = (theirs, theirs, theirs)

        def spawn(command: Sequence[str], held: Held | None) -> Process:
            attached = [sys.executable, "-I", "-S", "-c", _ATTACH, *command]
            return start(attached, env=env, cwd=cwd, streams=streams, lock=lock, held=held)

        try:
            _set_up(theirs)
            process = confinement.start(argv, spawn, limits)
        except (OSError, ValueError, termios.error):
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return cls(process, ours)

    @property
    def has_ended(self) -> bool:
        """Whether the program has exited, or has let go of its terminal."""
        return self.exit.done() or self._reader.ended.done()

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None as long as :meth:`end` was not called."""
        return self._process.returncode

    @property
    def last(self) -> bytes:
        """The last bytes it wrote."""
        return self._last

    @property
    def written(self) -> str:
        """The output since it was last taken."""
        return self._output.stream().text

    def listen(self) -> None:
        """Take what it has written by now: the event loop may not have come to it yet."""
        self._reader.read_ready()

    def take_output(self) -> Capture:
        """Return the output since this was last called."""
        taken, self._output, self._last = self._output, Capture(), b""
        return taken

    async def send(self, data: bytes) -> None:
        """Write to the program's input. Waits as long as the terminal takes no more.

        Raises OSError when the program is gone.
        """
        while data:
            if self._reader.is_closed:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                await asyncio.sleep(SETTLE)

    async def is_silent(self, seconds: float | None) -> bool:
        """Wait until it writes or ends; True when it did neither within these seconds."""
        if self.has_ended:
            return False
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return True
        return False

    async def drain(self) -> None:
        """Take the last output of a program that has ended."""
        await asyncio.wait([self._reader.ended], timeout=DRAIN_GRACE)

    async def end(self) -> None:
        """End the program with all it started. Not cut short by a cancellation."""
        self._reader.read_ready()
        self._reader.close()  # hangs up, which most programs take for a goodbye
        try:
            await self._process.end()
        finally:
            self.exit.cancel()

    def _take(self, data: bytes) -> None:
        self._output.take(data)
        self._last = (self._last + data)[-LAST_BYTES:]
        self._changed.set()


def _set_up(descriptor: int) -> None:
    """No echo, for what is sent is known; and newlines as the program writes them."""
    modes = termios.tcgetattr(descriptor)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    with contextlib.suppress(termios.error):
        termios.tcsetwinsize(descriptor, (_ROWS, _COLUMNS))


def _is_there(program: str, env: Mapping[str, str], cwd: Path) -> bool:
    if "/" in program:
        return os.access(cwd / program, os.X_OK)
    return shutil.which(program, path=env.get("PATH", os.defpath)) is not None
