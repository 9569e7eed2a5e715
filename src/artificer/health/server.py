"""A small server of health and metrics, for processes that serve nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Self

from artificer.errors import ConfigError, OperatorError
from artificer.health.exposition import MEDIA_TYPE
from artificer.health.health import Health
from artificer.system.loopback import is_loopback

SECONDS = 20.0
"""How long a request may take as a whole."""

HEAD = 8192
"""Bytes of a request's head."""

CONNECTIONS = 64
"""Connections at a time; more are closed."""

HealthAnswer = tuple[HTTPStatus, str, str]


class HealthServer:
    """Answers ``/healthz``, ``/readyz`` and ``/metrics``, and nothing else.

    Where it is reached from this machine only, it answers to no other names: a page in a browser
    could have made one point here.
    """

    def __init__(self, health: Health, host: str, port: int) -> None:
        self._health = health
        self._host, self._port = host, port
        self._server: asyncio.Server | None = None
        self._open = 0

    async def __aenter__(self) -> Self:
        """Listen. Raises OperatorError if that cannot be."""
        try:
            self._server = await asyncio.start_server(
                self._serve, self._host, self._port, limit=HEAD
            )
        except OSError as error:
            raise OperatorError(
                f"Health cannot be served on {self._host}, port {self._port}: {error.strerror}.",
                hint="Choose another port, or 0 for a free one.",
            ) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        """The address that it answers at."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= CONNECTIONS:
                async with asyncio.timeout(SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_written(*await self._answer(head.decode("latin-1"))))
                    await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # such a request gets no answer
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, head: str) -> HealthAnswer:
        request, _, headers = head.partition("\r\n")
        words = request.split(" ")
        if len(words) != 3 or words[0] != "GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", "Only GET.\n"
        if is_loopback(self._host) and not _is_own(_host_of(headers)):
            return (
                HTTPStatus.MISDIRECTED_REQUEST,
                "text/plain",
                "This is not the name of this machine.\n",
            )
        answer = _PATHS.get(words[1].partition("?")[0])
        if answer is None:
            return HTTPStatus.NOT_FOUND, "text/plain", "/healthz, /readyz, /metrics\n"
        return await answer(self._health)


async def _live(_: Health) -> HealthAnswer:
    return HTTPStatus.OK, "text/plain", "ok\n"


async def _ready(health: Health) -> HealthAnswer:
    problem = await health.problem()
    status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
    return status, "text/plain", f"{problem or 'ok'}\n"


async def _metrics(health: Health) -> HealthAnswer:
    return HTTPStatus.OK, MEDIA_TYPE, await health.metrics()


_PATHS: dict[str, Callable[[Health], Awaitable[HealthAnswer]]] = {
    "/healthz": _live,
    "/readyz": _ready,
    "/metrics": _metrics,
}


def _written(status: HTTPStatus, media_type: str, text: str) -> bytes:
    body = text.encode()
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {media_type}\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    ).encode() + body


def place_of(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``, ``:PORT`` or ``PORT``; the host is this machine. Raises ConfigError."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdecimal()) or int(port[:6]) > 65_535:
        raise ConfigError(
            f"{text!r} is not an address to listen on.",
            hint="Write HOST:PORT, as in 127.0.0.1:9464.",
        )
    return host, int(port)


def _host_of(headers: str) -> str:
    for line in headers.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "host":
            return value.strip()
    return ""


def _is_own(host: str) -> bool:
    """Whether a Host header names this machine by itself."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return is_loopback(name.removeprefix("[").removesuffix("]"))
