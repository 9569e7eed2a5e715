"""An MCP server as a child process: bounded lines, its death noticed, its whole tree ended.

The SDK's own transport ends the server's process group; this one ends also what left the group,
and reads no line of any length.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from asyncio.streams import FlowControlMixin
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from artificer.backends.process.pipes import PipeReader, pipe_in
from artificer.backends.process.start import start
from artificer.system.home import working_directory
from artificer.system.tasks import end_all

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    Inbox = MemoryObjectSendStream[SessionMessage | Exception]
    Outbox = MemoryObjectReceiveStream[SessionMessage]

MAX_MESSAGE = 8 * 1024 * 1024
"""Bytes of one line: a server that writes a longer one is taken for broken, and ended."""

CLOSE_GRACE = 1.0
"""Seconds that a server gets to end by itself when its standard input has been closed."""

DRAIN_GRACE = 0.2
"""Seconds in which what a dead server wrote is still read."""

KEPT_ERRORS = 2_000
"""Bytes of its standard error that are kept, to say why it did not start."""


class StdioServer:
    """The transport to a server that this program starts. Each one is entered once.

    Set ``impatient`` to have it ended at once, instead of being asked to end.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None,
        lock: Path | None = None,
    ) -> None:
        """``lock`` is what the server holds as long as anything of it lives."""
        self._argv = argv
        self._env = env
        self._cwd = cwd or working_directory()
        self._lock = lock
        self._errors = bytearray()
        self._tasks: list[asyncio.Task[None]] = []
        self._closers = contextlib.ExitStack()
        self.impatient = False
        self.is_dead = False

    @property
    def errors(self) -> str:
        """The end of its standard error."""
        return self._errors[-KEPT_ERRORS:].decode("utf-8", "replace").strip()

    @property
    def errors_cut(self) -> bool:
        """Whether something may have stood before that end."""
        return len(self._errors) >= KEPT_ERRORS

    async def __aenter__(self) -> TransportStreams:
        """Start the server. Raises OSError when it cannot be started."""
        import anyio
        from mcp.shared.message import SessionMessage

        self._start()
        inbox, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outbox = anyio.create_memory_object_stream[SessionMessage](0)
        for stream in (inbox, read, write, outbox):
            self._closers.callback(stream.close)
        try:
            await self._connect(inbox, outbox)
        except BaseException:  # a cancellation too: what was started would outlive it
            await self._end()
            raise
        return read, write

    async def __aexit__(self, *_: object) -> None:
        """End the server and all that it started."""
        await self._end()

    def _start(self) -> None:
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            read, self._input = pipe_in(theirs, ours)
            self._output, written = pipe_in(ours, theirs)
            errors, complained = pipe_in(ours, theirs)
            self._process = start(
                self._argv,
                env=self._env,
                cwd=self._cwd,
                streams=(read, written, complained),
                lock=self._lock,
            )
            ours.pop_all()
        self._closers.callback(PipeReader(errors, self._keep_errors).close)

    async def _connect(self, inbox: Inbox, outbox: Outbox) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_MESSAGE)
        receiving, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._output, "rb", 0)
        )
        self._closers.callback(receiving.close)
        sending, protocol = await loop.connect_write_pipe(
            FlowControlMixin, os.fdopen(self._input, "wb", 0)
        )
        self._closers.callback(_abort, sending)
        self._writer = asyncio.StreamWriter(sending, protocol, None, loop)
        self._tasks = [
            asyncio.create_task(self._read(reader, inbox)),
            asyncio.create_task(self._write(outbox)),
            asyncio.create_task(self._watch(inbox)),
        ]

    async def _read(self, reader: asyncio.StreamReader, inbox: Inbox) -> None:
        """Hand over one message per line; lines without a message are the server's noise."""
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            while line := await reader.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    await asyncio.sleep(0)  # a flood of noise must not hold the event loop
                    continue
                await inbox.send(SessionMessage(message))
        except (ValueError, OSError, BrokenResourceError, ClosedResourceError):
            pass  # a line beyond the limit, a broken pipe, or nobody there to read it any more
        finally:
            self._died(inbox)

    async def _write(self, outbox: Outbox) -> None:
        with contextlib.suppress(OSError):  # the task that watches the server notices its death
            async for message in outbox:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._writer.write(text.encode() + b"\n")
                await self._writer.drain()

    async def _watch(self, inbox: Inbox) -> None:
        """Notice the server's end even where something it started still holds its pipe."""
        await self._process.exited()
        await asyncio.sleep(DRAIN_GRACE)
        self._died(inbox)

    def _died(self, inbox: Inbox) -> None:
        self.is_dead = True
        inbox.close()  # every pending request receives the error

    def _keep_errors(self, data: bytes) -> None:
        self._errors += data
        del self._errors[:-KEPT_ERRORS]

    async def _end(self) -> None:
        """Wait for the server to end, then end it if necessary, and release it."""
        with contextlib.ExitStack() as closers:
            closers.push(self._closers.pop_all())
            try:
                await self._hang_up()
            finally:
                await self._process.end()
                await end_all(self._tasks)

    async def _hang_up(self) -> None:
        """Close the server's input, the only request to end, and wait a while for its end."""
        reading_and_writing, watching = self._tasks[:2], self._tasks[2:]
        for task in reading_and_writing:
            task.cancel()
        if watching and not self.impatient:
            self._writer.close()
            await asyncio.wait(watching, timeout=CLOSE_GRACE)


def _abort(pipe: asyncio.WriteTransport) -> None:
    """Close a pipe at once. One that has closed already, as its reader is gone, has no loop."""
    with contextlib.suppress(AttributeError):
        pipe.abort()
