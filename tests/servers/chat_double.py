"""A server of Chat Completions that answers as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

Body = dict[str, Any]
Answer = Callable[[Body], Body | list[Body]]
"""A request's body to an error, or to the chunks of a reply."""


class Double:
    """A server of Chat Completions on a port of its own."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[Body] = []
        self.heads: list[str] = []

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if head.startswith("get "):  # it lists no models
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            writer.close()
            return
        self.heads.append(head)
        length = int(head.split("content-length:")[1].split()[0])
        self.requests.append(json.loads(await reader.readexactly(length)))
        answer = self._answer(self.requests[-1])
        if isinstance(answer, dict):
            code = answer["error"].get("code")
            status = f"{code if isinstance(code, int) else 400} Refused"
            kind, body = "application/json", json.dumps(answer)
        else:
            events = [*(json.dumps(chunk) for chunk in answer), "[DONE]"]
            body = "".join(f"data: {event}\n\n" for event in events)
            status, kind = "200 OK", "text/event-stream"
        data = body.encode()
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n"
            "connection: close\r\n\r\n".encode()
            + data
        )
        await writer.drain()
        writer.close()


def chunk(finish: str | None = None, **delta: Any) -> Body:
    """A chunk of a reply."""
    return {"id": "r", "model": "m", "choices": [{"delta": delta, "finish_reason": finish}]}
