"""A browser's only way out: a proxy on this machine that connects only to places in scope.

Interception inside the browser does not see where redirects lead, nor every kind of request; what
has to come through here is everything.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

from artificer.backends.browser.spec.keys import BrowserScopeKeys
from artificer.backends.browser.spec.scope import (
    DEFAULT_PORTS,
    host_refusal,
    is_loopback,
    is_named,
    names_port,
)
from artificer.contracts.public_address import is_public
from artificer.system.tasks import end_all, shielded
from artificer.values.text import clip

MAX_HEAD = 64 * 1024
"""Bytes of a request's head."""

MAX_REFUSED = 20
"""The limit on refused hosts that are remembered until they are reported."""

_CHUNK = 64 * 1024
_CONNECT_SECONDS = 10


class ScopeProxy:
    """An HTTP proxy. ``refused`` are the hosts that were not connected to, with the reason."""

    def __init__(self, scope: BrowserScopeKeys) -> None:
        self._scope = scope
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.refused: dict[str, str] = {}

    async def start(self) -> str:
        """Begin to listen on a free port of this machine, and return the proxy's address."""
        server = await shielded(self._listen())  # cut short, it would leave a socket
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _listen(self) -> asyncio.Server:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)
        return self._server

    async def aclose(self) -> None:
        """Close it and every connection through it."""
        if self._server is not None:
            self._server.close()
        await end_all(self._open)

    def take_refused(self) -> dict[str, str]:
        """The hosts refused since this was last called."""
        taken, self.refused = self.refused, {}
        return taken

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        try:
            with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        except asyncio.LimitOverrunError:
            pass  # a head without end
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, fields = head.partition(b"\r\n")
        method, target, version = line.decode("ascii").split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname or "", parts.port or 80
        try:
            upstream = await self._connect(host, port)
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n")
            return
        if upstream is None:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n")
            return
        answer, onward = upstream
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = parts._replace(scheme="", netloc="", path=parts.path or "/").geturl()
                onward.write(f"{method} {path} {version}\r\n".encode())
                onward.write(_single(fields, parts.netloc.rpartition("@")[2]))
            await _both(_copy(reader, onward), _copy(answer, writer))
        finally:
            onward.close()

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connect to a host in scope; None for any other."""
        reason = host_refusal(self._scope, host, port)
        loop = asyncio.get_running_loop()
        if reason is None:
            found = await loop.getaddrinfo(host, port, type=1)
            addresses = [str(entry[4][0]) for entry in found]
            reason = self._address_refusal(host, port, addresses)
        if reason is None:
            # To what was checked, not to the name: it may lead elsewhere a moment later.
            opening = asyncio.open_connection(addresses[0], port)
            return await asyncio.wait_for(opening, _CONNECT_SECONDS)
        if len(self.refused) < MAX_REFUSED:
            self.refused[clip(host, 253)] = reason
        return None

    def _address_refusal(self, host: str, port: int, addresses: list[str]) -> str | None:
        """Why a host in scope may not be reached at these addresses, or None."""
        if not is_named(self._scope, host, port) and not all(map(is_public, addresses)):
            return "is not on the public internet"
        is_open = port in DEFAULT_PORTS or names_port(self._scope, host, port)
        if not is_open and any(map(is_loopback, addresses)):
            return f"is this machine, and the scope does not name its port {port}"
        return None


def _single(fields: bytes, host: str) -> bytes:
    """The header fields, for a connection that serves one request: each is judged by itself.

    The host is the one that was judged, whatever the field says (RFC 9112 section 3.2.2): a server
    may have others too.
    """
    dropped = (b"host:", b"connection:", b"proxy-connection:", b"keep-alive:")
    kept = [f for f in fields.split(b"\r\n") if not f.lower().startswith(dropped)]
    is_upgrade = any(f.lower().startswith(b"upgrade:") for f in kept)
    connection = b"Upgrade" if is_upgrade else b"close"
    ours = [b"Host: " + host.encode("ascii"), b"Connection: " + connection]
    return b"\r\n".join([*ours, *kept])


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _both(upward: Coroutine[Any, Any, None], downward: Coroutine[Any, Any, None]) -> None:
    """Copy in both directions until the answer has ended."""
    sending = asyncio.ensure_future(upward)
    try:
        await downward
    finally:
        sending.cancel()
        await asyncio.wait([sending])
