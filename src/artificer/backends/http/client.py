"""Sending one HTTP request: to public addresses only, within a time and a size.

The address that is checked is the address that is connected to, so that a name cannot mean one
thing when it is checked and another when it is used (DNS rebinding). No proxy, no cookies, no
``.netrc``, no compression: what the manifest says is what is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from artificer.backends.http.spec.request import MAX_URL, HttpRequest, resolved
from artificer.contracts.public_address import is_public
from artificer.system.tls import shared_context
from artificer.values.release import RELEASE

if TYPE_CHECKING:
    import httpcore2

MAX_BODY = 8 * 1024 * 1024
"""Bytes of a body that are read; then the connection is closed."""

MAX_REDIRECTS = 5
MAX_ADDRESSES = 4
"""Addresses of one name that are tried."""

_REDIRECTS = (301, 302, 303, 307, 308)
_ENCODABLE = ("iso-8859-1", "latin-1", "us-ascii", "ascii", "windows-1252", "utf-16", "utf-8")


class SendError(Exception):
    """A request that had no usable response; the message is for the model, without any secret."""


@dataclass
class Received:
    """A response as far as it has come: filled while it is read, so that a timeout keeps it.

    A ``compressed`` body is not read: nobody asked for one, and it may unpack to any size.
    """

    status: int | None = None
    content_type: str = ""
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    compressed: bool = False

    @property
    def digest(self) -> str:
        """Digest of the bytes that were read."""
        return "sha256:" + hashlib.sha256(self.body).hexdigest()

    @property
    def text(self) -> str:
        """The body as text; what is not such a text becomes U+FFFD."""
        charset = "utf-8"
        for parameter in self.content_type.split(";")[1:]:
            name, _, value = parameter.strip().partition("=")
            if name.lower() == "charset" and value.strip('"').lower() in _ENCODABLE:
                charset = value.strip('"').lower()
        return self.body.decode(charset, "replace")


@dataclass(frozen=True)
class Ready:
    """A request with its secrets in it: it lives only while it is being sent."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    may_wander: bool


def make_ready(
    request: HttpRequest, secrets: Mapping[str, str], own: tuple[tuple[str, str], ...] = ()
) -> Ready:
    """Put the secrets in. ``own`` are the headers that the call itself has.

    Raises SendError for a secret that no header can hold.
    """
    headers = [(name, resolved(value, secrets)) for name, value in request.headers]
    if any(not (32 <= ord(c) < 127 or c == "\t") for _, value in headers for c in value):
        raise SendError("A secret holds characters that no header can hold.")
    names = {name.lower() for name, _ in headers}
    body = None
    if request.body is not None:
        body = resolved(request.body, secrets).encode("utf-8", "replace")
        if "content-type" not in names:
            headers.append(("Content-Type", "application/json"))
    if "user-agent" not in names:
        headers.append(("User-Agent", f"artificer/{RELEASE}"))
    headers += own
    return Ready(
        method=request.method,
        url=resolved(request.url, secrets),
        headers=tuple(headers),
        body=body,
        may_wander=request.may_wander and not own,
    )


HostResolver = Callable[[str, int], Awaitable[list[str]]]
"""Finds the addresses of a host. Raises OSError or UnicodeError."""


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Ask the system, as every other program does."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True)
class NetworkScope:
    """Where a request may lead.

    With ``private`` that host and port may be on a private network; no other, wherever a redirect
    leads. ``refusal`` says why a redirect is out of scope, or None.
    """

    private: tuple[str, int] | None = None
    refusal: Callable[[str], str | None] = lambda _: None
    resolve: HostResolver = resolve_by_system


async def send(ready: Ready, received: Received, reach: NetworkScope) -> None:
    """Send a request and read its response into ``received``, redirects included.

    The caller bounds the time, by cancelling. Raises SendError.
    """
    import httpcore2

    context = shared_context() if urlsplit(ready.url).scheme == "https" else None
    pool = httpcore2.AsyncConnectionPool(ssl_context=context, network_backend=_guarded(reach))
    async with pool:
        for _ in range(MAX_REDIRECTS + 1):
            try:
                target = await _once(pool, ready, received)
            except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
                what = "closed" if received.status else "failed"
                raise SendError(f"The connection {what}: {type(error).__name__}.") from error
            except httpcore2.TimeoutException as error:
                raise SendError("The connection took too long.") from error
            if target is None:
                return
            ready = _redirected(ready, target, received.status or 0)
            if reach.refusal(ready.url):
                raise SendError("The server redirects out of the scope, which is not followed.")
    raise SendError(f"The server redirects more than {MAX_REDIRECTS} times.")


async def _once(
    pool: httpcore2.AsyncConnectionPool, ready: Ready, received: Received
) -> str | None:
    """Send one request. Returns its redirect, or None once the response is read."""
    url = urlsplit(ready.url)
    headers = [("Host", url.netloc), *ready.headers]
    async with pool.stream(
        ready.method, ready.url, headers=headers, content=ready.body
    ) as response:
        received.status = response.status
        fields = {name.lower(): value for name, value in response.headers}
        location = fields.get(b"location")
        if response.status in _REDIRECTS and location:
            return location.decode("ascii", "replace")
        received.content_type = fields.get(b"content-type", b"").decode("latin-1")
        encoding = fields.get(b"content-encoding", b"identity").decode("latin-1").lower()
        if encoding != "identity":
            received.compressed = True
            return None
        async for data in response.aiter_stream():
            received.body += data[: MAX_BODY - len(received.body)]
            if len(received.body) >= MAX_BODY:
                return None  # at the end of its block the connection is closed
        received.complete = True
        return None


def _redirected(ready: Ready, location: str, status: int) -> Ready:
    """The request that a redirection asks for. Raises SendError for one that is not followed."""
    target = _target(ready.url, location)
    if not target or len(target) > MAX_URL or not target.isascii() or any(c <= " " for c in target):
        raise SendError("The server redirects to what is no URL.")
    here, there = _origin(ready.url), _origin(target)
    if there is None or (here != there and not _may_follow(ready, here, there)):
        # Not its name: a server may have put there what it was sent.
        raise SendError("The server redirects to another origin, which is not followed.")
    if status == 303 or (status in (301, 302) and ready.method == "POST"):
        kept = tuple(h for h in ready.headers if h[0].lower() != "content-type")
        return Ready("GET", target, kept, None, ready.may_wander)
    return Ready(ready.method, target, ready.headers, ready.body, ready.may_wander)


def _target(url: str, location: str) -> str:
    """The URL that a redirection leads to; empty for what is none, such as an unclosed bracket."""
    try:
        return urljoin(url, location).partition("#")[0]
    except ValueError:
        return ""


def _may_follow(ready: Ready, here: _Origin | None, there: _Origin) -> bool:
    downgraded = here is not None and here[0] == "https" and there[0] == "http"
    return ready.may_wander and not downgraded


_Origin = tuple[str, str, int]


def place_of(url: str) -> tuple[str, int] | None:
    """The host and the port that a URL leads to; None for what is no URL of ours."""
    origin = _origin(url)
    return origin and origin[1:]


def _origin(url: str) -> _Origin | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _guarded(reach: NetworkScope) -> httpcore2.AsyncNetworkBackend:
    """A network that connects only to public addresses by default."""
    import httpcore2

    class Guarded(httpcore2.AsyncNetworkBackend):
        def __init__(self) -> None:
            self._network = httpcore2.AnyIOBackend()

        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,  # noqa: ASYNC109 - the interface's
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore2.AsyncNetworkStream:
            host = host.strip("[]").lower()
            addresses = await addresses_of(host, port, reach.resolve)
            if (host, port) != reach.private and not all(map(is_public, addresses)):
                raise SendError(_not_public(host, port, reach))
            failure: Exception = SendError(f"{host} has no address.")
            for address in addresses[:MAX_ADDRESSES]:
                try:
                    return await self._network.connect_tcp(
                        address, port, timeout, local_address, socket_options
                    )
                except httpcore2.ConnectError as error:
                    failure = error
            raise failure

    return Guarded()


def _not_public(host: str, port: int, reach: NetworkScope) -> str:
    if reach.private is not None and reach.private[0] == host:
        return f"The server redirects to port {port} of its private host, which is not followed."
    return (
        f"{host} is not on the public internet. If the request is meant to go there, its manifest "
        "must say allow_private = true."
    )


async def addresses_of(host: str, port: int, resolve: HostResolver) -> list[str]:
    """Return the addresses of a host, each once. Raises SendError when it has none."""
    try:
        return list(dict.fromkeys(await resolve(host, port)))
    except (OSError, UnicodeError) as error:
        raise SendError(f"{host} cannot be resolved.") from error
