"""The loopback client against servers that answer in pieces, wrongly, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from artificer.providers.local_http import HttpError, post_events
from artificer.providers.local_process import Address

OK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def server(*pieces: bytes) -> AsyncIterator[Address]:
    """A server that reads a request, writes the pieces one by one, and closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield Address("127.0.0.1", listening.sockets[0].getsockname()[1], "key")


async def events(*pieces: bytes) -> list[object]:
    async with server(*pieces) as address, post_events(address, "/", {}) as stream:
        return [event async for event in stream]


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@pytest.mark.req("local-http")
async def test_events_are_whole_however_they_are_cut() -> None:
    body = b': ping\n\ndata: {"a": "\xc3\xa9"}\r\n\r\ndata: 2\n\ndata: [DONE]\n\n'
    wire = OK + b"".join(chunk(body[i : i + 3]) for i in range(0, len(body), 3)) + chunk(b"")
    bytewise = [wire[i : i + 1] for i in range(len(wire))]
    assert await events(*bytewise) == [{"a": "é"}, 2]


@pytest.mark.req("local-http")
async def test_an_error_carries_status_and_the_servers_words() -> None:
    body = b'{"error": {"code": 400, "message": "no"}}'
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body)
    with pytest.raises(HttpError) as caught:
        await events(head, body)
    assert (caught.value.status_code, caught.value.body) == (400, {"code": 400, "message": "no"})


@pytest.mark.req("local-http")
@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        ((b"",), EOFError),
        ((OK, b"5\r\nda"), EOFError),
        ((OK, chunk(b"data: 1\n")), EOFError),
        ((b"SSH-2.0-x\r\n",), ValueError),
        ((OK, b"xyz\r\n"), ValueError),
        ((OK, chunk(b"data: {\n")), ValueError),
        ((OK, b"fffffff\r\n"), ValueError),
    ],
    ids=["nothing", "half a chunk", "no last chunk", "no HTTP", "no size", "no JSON", "huge"],
)
async def test_a_broken_answer_is_an_error(
    pieces: tuple[bytes, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await events(*pieces)
