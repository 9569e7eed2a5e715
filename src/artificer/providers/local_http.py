"""A small streaming HTTP client for the embedded model's server, on a loopback connection.

It exists so that the ``local`` extra needs no SDK. It uses one connection per request, because the
server closes its connections after every stream, whatever its Keep-Alive header says. Leaving the
context aborts the connection, which frees the server's slot.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from artificer.providers.local_process import Address
from artificer.values.base import JsonObject

MAX_LINE = 1 << 20
MAX_ERROR_BODY = 1 << 16
MAX_CHUNK = 1 << 23
MAX_HEADERS = 100


class HttpError(Exception):
    """Raised for an error status. ``body`` is the server's error object, or its text."""

    def __init__(self, status_code: int, body: object) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code
        self.body = body


@asynccontextmanager
async def post_events(
    address: Address, path: str, body: JsonObject
) -> AsyncIterator[AsyncIterator[object]]:
    """Send a JSON body and return the parsed server-sent events of the response.

    Raises:
        HttpError: the status is not 200.
        OSError, EOFError: the connection failed or ended early.
        ValueError: the response is not HTTP, or not JSON.
    """
    reader, writer = await asyncio.open_connection(address.host, address.port, limit=MAX_LINE)
    try:
        writer.write(_request(address, path, json.dumps(body).encode()))
        await writer.drain()
        status, headers = await _head(reader)
        pieces = _pieces(reader, headers)
        if status != 200:
            raise HttpError(status, await _error(pieces))
        yield _events(pieces)
    finally:
        writer.transport.abort()


def _request(address: Address, path: str, body: bytes) -> bytes:
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: {address.host}:{address.port}",
        f"Authorization: Bearer {address.key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


async def _line(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the connection ended inside a line")
    return line.rstrip(b"\r\n")


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Read the status line and the headers."""
    words = (await _line(reader)).split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1."):
        raise ValueError("the answer is not HTTP")
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADERS):
        line = await _line(reader)
        if not line:
            return int(words[1]), headers
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    raise ValueError(f"the answer has more than {MAX_HEADERS} headers")


async def _pieces(reader: asyncio.StreamReader, headers: dict[str, str]) -> AsyncIterator[bytes]:
    """Yield the body as it arrives (RFC 9112, section 6.3)."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        while size := int((await _line(reader)).split(b";")[0], 16):
            if size > MAX_CHUNK:
                raise ValueError("a chunk of the answer is too large")
            yield await reader.readexactly(size)
            await reader.readexactly(2)
    elif "content-length" in headers:
        left = int(headers["content-length"])
        while left > 0:
            piece = await reader.readexactly(min(left, MAX_ERROR_BODY))
            left -= len(piece)
            yield piece
    else:
        while piece := await reader.read(MAX_ERROR_BODY):
            yield piece


async def _error(pieces: AsyncIterator[bytes]) -> object:
    """Return the error object of an error response, or its text."""
    data = b""
    async for piece in pieces:
        data = (data + piece)[:MAX_ERROR_BODY]
        if len(data) == MAX_ERROR_BODY:
            break
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value.get("error", text) if isinstance(value, dict) else text


async def _events(pieces: AsyncIterator[bytes]) -> AsyncIterator[object]:
    """Yield the data of each event: one line of JSON, the last one ``[DONE]``."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > MAX_LINE:
            raise ValueError("a line of the answer is too long")
        for line in lines:
            name, _, value = line.strip().partition(b":")
            if name != b"data":
                continue
            if value.strip() == b"[DONE]":
                return
            yield _event(value)


def _event(value: bytes) -> object:
    try:
        return json.loads(value)
    except RecursionError as error:
        raise ValueError("an event of the answer is nested too deeply") from error
