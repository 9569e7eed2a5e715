"""A server of Chat Completions that sends each piece of a reply when a test says so."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from chat_double import Body, chunk


class PacedDouble:
    """A model on a port of its own. Every request gets the pieces that are sent until the end."""

    def __init__(self) -> None:
        self.requests: list[Body] = []
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> PacedDouble:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for _ in self._tasks:
            self._pieces.put_nowait(None)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def text(self, text: str) -> None:
        """Send a piece of text."""
        self._send(chunk(content=text))

    def call(self, index: int, name: str, arguments: str = "") -> None:
        """Begin a call."""
        function = {"name": name, "arguments": arguments}
        made = {"index": index, "id": f"c{index}", "type": "function", "function": function}
        self._send(chunk(tool_calls=[made]))

    def arguments(self, index: int, text: str) -> None:
        """Send a piece of a call's arguments."""
        self._send(chunk(tool_calls=[{"index": index, "function": {"arguments": text}}]))

    def end(self, finish: str = "stop") -> None:
        """End the reply."""
        self._send(chunk(finish))
        self._pieces.put_nowait(b"data: [DONE]\n\n")
        self._pieces.put_nowait(None)

    def _send(self, body: Body) -> None:
        self._pieces.put_nowait(f"data: {json.dumps(body)}\n\n".encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if head.startswith("get "):  # it lists no models
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        else:
            length = int(head.split("content-length:")[1].split()[0])
            self.requests.append(json.loads(await reader.readexactly(length)))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
            writer.write(b"connection: close\r\n\r\n")
            while (piece := await self._pieces.get()) is not None:
                writer.write(piece)
                await writer.drain()
        await writer.drain()
        writer.close()
