"""Reading a pipe as it fills, on the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack

CHUNK = 64 * 1024
"""Bytes asked for at once: what a Linux pipe holds by default."""

CHUNKS_AT_ONCE = 8
"""Reads per wake-up: enough to keep up with a flood, few enough to leave the loop responsive."""


def pipe_in(reads: ExitStack, writes: ExitStack) -> tuple[int, int]:
    """Make a pipe, whose two ends are closed with these. Raises OSError."""
    readable, writable = os.pipe()
    reads.callback(os.close, readable)
    writes.callback(os.close, writable)
    return readable, writable


class PipeReader:
    """Hands everything that comes out of a pipe to ``take``; ``ended`` is done at its end.

    Owns the file descriptor: :meth:`close` must be called, and stops the reading at any time.
    With ``begin=False`` nothing is read until :meth:`begin` or :meth:`read_ready`.
    """

    def __init__(
        self, descriptor: int, take: Callable[[bytes], None], *, begin: bool = True
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._take = take
        self._open = True
        self.ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(descriptor, False)
        if begin:
            self.begin()

    @property
    def is_closed(self) -> bool:
        """Whether the descriptor is closed: its number may be that of another file by now."""
        return not self._open

    def begin(self) -> None:
        """Read whenever something is there, from now on. May be called more than once."""
        if not self.ended.done():
            self._loop.add_reader(self._descriptor, self._on_readable)

    def read_ready(self) -> None:
        """Take what is there now, up to a bound, without waiting for the event loop."""
        if not self.ended.done():
            self._on_readable()

    def close(self) -> None:
        """Stop reading and close the descriptor. May be called more than once."""
        if self._open:
            self._open = False
            self._finish()
            os.close(self._descriptor)

    def _on_readable(self) -> None:
        for _ in range(CHUNKS_AT_ONCE):
            try:
                data = os.read(self._descriptor, CHUNK)
            except BlockingIOError:
                return
            except OSError:  # EIO: a terminal that nobody holds any more (tty_ioctl(4))
                data = b""
            if not data:
                self._finish()
                return
            self._take(data)

    def _finish(self) -> None:
        self._loop.remove_reader(self._descriptor)
        if not self.ended.done():
            self.ended.set_result(None)
