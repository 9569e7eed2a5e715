"""The HTTP client for MCP servers, which bounds what they send and where they lead."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import httpx2

from artificer.backends.http.client import (
    MAX_ADDRESSES,
    HostResolver,
    SendError,
    addresses_of,
    place_of,
    resolve_by_system,
)
from artificer.contracts.public_address import is_public
from artificer.system.http_bounds import bounds
from artificer.system.tls import shared_context

LISTEN_EVERY = 0.25
"""Seconds between two streams of a server's own messages. It says when the SDK connects again."""


def bounded_client(
    headers: Mapping[str, str],
    limit: int,
    *own: str,
    auth: httpx2.Auth | None = None,
    resolve: HostResolver = resolve_by_system,
) -> httpx2.AsyncClient:
    """A client whose responses have at most ``limit`` bytes, streams of events excepted.

    ``own`` are URLs that the operator wrote. A server says where else an authorization leads, and
    that must be public. ``resolve`` finds the addresses of hosts.
    """
    return httpx2.AsyncClient(
        headers=dict(headers),
        auth=auth,
        timeout=httpx2.Timeout(30, read=300),
        transport=_Guarded(own, resolve),
        event_hooks=bounds(limit, _asks_for_events),
        trust_env=False,
    )


def _asks_for_events(request: httpx2.Request) -> bool:
    """Whether the SDK reads the answer event by event, and not whole, as for an authorization."""
    return "text/event-stream" in request.headers.get("accept", "")


class _Guarded(httpx2.AsyncHTTPTransport):
    def __init__(self, own: tuple[str, ...], resolve: HostResolver) -> None:
        super().__init__(verify=shared_context())
        self._resolve = resolve
        places = {place for url in own if (place := place_of(url))}
        self._own = places | {(host, 443) for host, port in places if port == 80}
        self._listen_at = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and _asks_for_events(request):
            await self._pause()
        place = place_of(str(request.url))
        if place in self._own:
            return await super().handle_async_request(request)
        host, port = place or ("", 0)
        failure = httpx2.ConnectError(f"{host} has no address.", request=request)
        for address in (await self._public(host, port, request))[:MAX_ADDRESSES]:
            try:
                return await super().handle_async_request(_pinned(request, host, address))
            except httpx2.ConnectError as error:
                failure = error
        raise failure

    async def _public(self, host: str, port: int, request: httpx2.Request) -> list[str]:
        """Return the addresses of a host. Raises ConnectError for one that is not public."""
        try:
            addresses = await addresses_of(host, port, self._resolve)
        except SendError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        if not all(map(is_public, addresses)):
            raise httpx2.ConnectError(f"{host} is not on the public internet.", request=request)
        return addresses

    async def _pause(self) -> None:
        now = time.monotonic()
        at, self._listen_at = self._listen_at, max(now, self._listen_at) + LISTEN_EVERY
        await asyncio.sleep(max(0, at - now))


def _pinned(request: httpx2.Request, host: str, address: str) -> httpx2.Request:
    """The request to an address that was checked: its name may lead elsewhere a moment later."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )
