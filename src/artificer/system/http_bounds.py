"""Limits on what an HTTP server may send, as hooks of an httpx2 client.

A client calls its hooks for every response, whatever transport, proxy or authorization it has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2

Hooks = dict[str, list[Callable[[Any], Awaitable[None]]]]

_EVENT_ENDS = (b"\n\n", b"\r\r", b"\n\r\n")


def bounds(limit: int, may_stream: Callable[[httpx2.Request], bool] = lambda _: True) -> Hooks:
    """Return hooks that stop a response after ``limit`` bytes, and one that is compressed.

    If ``may_stream`` accepts the request, the answer can be a stream of events of any length, and
    the limit is that of each event.
    """

    async def ask(request: httpx2.Request) -> None:
        request.headers["Accept-Encoding"] = "identity"

    async def bound(response: httpx2.Response) -> None:
        kind = response.headers.get("content-type", "").lower()
        is_stream = response.is_success and kind.startswith("text/event-stream")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            events = is_stream and may_stream(response.request)
            coding = response.headers.get("content-encoding", "").lower()
            plain = coding in ("", "identity")
            response.stream = _Bounded(response.stream, limit, events, plain)

    return {"request": [ask], "response": [bound]}


class _Bounded(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: int, events: bool, plain: bool
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._events = events
        self._plain = plain

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, tail = 0, b""
        async for data in self._stream:
            if not self._plain:  # a few bytes can unpack to any number
                raise httpx2.StreamError("The server compressed the response without being asked.")
            size += len(data)
            if self._events:
                tail = tail[-3:] + data  # an end may be split
                end = max(map(tail.rfind, _EVENT_ENDS))
                size = size if end < 0 else len(tail) - end
            if size > self._limit:
                what = "an event" if self._events else "a response"
                raise httpx2.StreamError(
                    f"The server sent {what} of more than {self._limit} bytes."
                )
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
