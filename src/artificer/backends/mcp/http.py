"""The HTTP client for MCP servers, with a limit on the size of responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx2

from artificer.system.tls import shared_context


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._left -= len(data)
            if self._left < 0:
                raise httpx2.ReadError("The response is too long.")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, limit: int) -> None:
        super().__init__(verify=shared_context())
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"  # what is not packed cannot burst
        response = await super().handle_async_request(request)
        stream = response.stream
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        if not events and isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(stream, self._limit)
        return response


def bounded_client(
    headers: Mapping[str, str], limit: int, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """A client whose responses have at most ``limit`` bytes, streams of events excepted."""
    return httpx2.AsyncClient(
        headers=dict(headers),
        auth=auth,
        timeout=httpx2.Timeout(30, read=300),
        transport=_BoundedTransport(limit),
        trust_env=False,
    )
