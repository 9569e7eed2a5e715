"""Standard input and output as an MCP client's two pipes, with waits that a signal can end."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from artificer.cli.mcp.wire import MAX_MESSAGE
from artificer.cli.terminal.exits import ReaderGone
from artificer.errors import OperatorError

if TYPE_CHECKING:
    from anyio import AsyncFile
    from mcp.server import Server

_CHUNK = 65_536


async def serve_stdio(server: Server[Any]) -> None:
    """Serve on standard input and output until the client closes them.

    Raises ReaderGone if the client no longer reads, and OperatorError for too long a message.
    """
    from mcp.server.stdio import stdio_server

    with _standard_streams() as (stdin, stdout):
        # The SDK's own files block a thread, for which a cancelled server would wait.
        reading, writing = cast("AsyncFile[str]", _Lines(stdin)), cast("AsyncFile[str]", stdout)
        try:
            async with stdio_server(reading, writing) as (messages, replies):
                await server.run(messages, replies, server.create_initialization_options())
        except BaseExceptionGroup as group:
            # Messages that come meanwhile make the SDK's tasks fail as their streams close.
            if group.subgroup(ReaderGone) is not None:
                raise ReaderGone from None
            if group.subgroup(_LineTooLong) is not None:
                raise OperatorError(
                    f"The MCP client wrote a message of more than {MAX_MESSAGE:,} bytes.",
                    hint="Pass large contents as files that a tool reads.",
                ) from None
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from None
            raise


@contextmanager
def _standard_streams() -> Iterator[tuple[int, _Writer]]:
    """Yield the client's pipes, while tools read nothing from 0 and what they print goes to 2."""
    pipes = [(fd, os.dup(fd)) for fd in (0, 1)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield pipes[0][1], _Writer(pipes[1][1])
    finally:
        for fd, pipe in pipes:
            os.dup2(pipe, fd)
            os.close(pipe)


class _LineTooLong(Exception):
    """A line has more than MAX_MESSAGE bytes."""


class _Lines:
    """The lines of a file descriptor. One that is too long raises _LineTooLong."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def __aiter__(self) -> AsyncIterator[str]:
        from anyio import wait_readable

        pieces, size = list[bytes](), 0
        while True:
            with suppress(PermissionError):  # a file, which is always ready
                await wait_readable(self._fd)
            if not (read := os.read(self._fd, _CHUNK)):
                break
            *ended, rest = read.split(b"\n")
            for end in ended:
                yield b"".join((*pieces, end)).decode("utf-8", "replace")
                pieces.clear()
                size = 0
            pieces.append(rest)
            size += len(rest)
            if size > MAX_MESSAGE:
                raise _LineTooLong
        if any(pieces):
            yield b"".join(pieces).decode("utf-8", "replace")


class _Writer:
    """A file descriptor that may be written to, in pieces that a pipe takes at once."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def write(self, text: str) -> None:
        """Write a text. Raises ReaderGone."""
        from anyio import wait_writable

        left = memoryview(text.encode())
        while left:
            with suppress(PermissionError):
                await wait_writable(self._fd)
            try:
                left = left[os.write(self._fd, left[: select.PIPE_BUF]) :]
            except (BrokenPipeError, ConnectionResetError) as error:
                raise ReaderGone from error

    async def flush(self) -> None:
        """Do nothing: what was written is not held back."""
