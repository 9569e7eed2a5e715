"""The API of a studio over HTTP, with the standard library: requests that are tried again, and end
when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from artificer import errors as err
from artificer.system.loopback import OWN_NAMES

PREFIX = "/api/v1"

CONNECT_S, ANSWER_S, PATIENCE_S = 10.0, 30.0, 30.0
"""Seconds until a server counts as silent: to be connected, to answer, and with all tries."""

IDLE_S = 3.0
"""How long a connection is used again: servers close idle ones."""

MAX_ANSWER = 128_000_000
"""Bytes of an answer."""

THREADS = 32

AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which a request is sent again: the server has not done it."""

T = TypeVar("T")


class UnreachableError(err.OperatorError):
    """The server did not answer. What was asked for may have been done."""


class _ErrorBody(msgspec.Struct):
    code: str
    message: str
    hint: str | None = None


class _ErrorAnswer(msgspec.Struct):
    error: _ErrorBody


class ApiCall:
    """A request in progress. ``stop`` ends it from another thread; ``tries`` counts attempts."""

    def __init__(self, patience: float = PATIENCE_S) -> None:
        self.tries = 0
        self.stopped = threading.Event()
        self.deadline = time.monotonic() + patience
        self._connection: HTTPConnection | None = None
        self._lock = threading.Lock()

    def uses(self, connection: HTTPConnection) -> None:
        """Name the connection that is used now."""
        with self._lock:
            self._connection = connection
            if self.stopped.is_set():
                raise UnreachableError("The request was stopped.")

    def drop(self) -> None:
        """Forget the connection."""
        with self._lock:
            self._connection = None

    def stop(self) -> None:
        """Close what is open, and send nothing more."""
        self.stopped.set()
        with self._lock:
            sock = self._connection.sock if self._connection is not None else None
            if sock is not None:
                _shut(sock)


class ApiClient:
    """Sends requests to a studio with a token, from any number of threads.

    Raises ConfigError for a URL that cannot be used.
    """

    def __init__(self, url: str, token: str) -> None:
        split = urlsplit(url)
        if split.scheme not in ("http", "https") or not split.hostname or split.username:
            raise err.ConfigError("The URL of a studio is https://HOST or http://127.0.0.1:PORT.")
        if split.scheme == "http" and split.hostname not in OWN_NAMES:
            raise err.ConfigError(
                f"A token is not sent to {split.hostname} without encryption.",
                hint="Use https://, or a tunnel that ends on this machine.",
            )
        self._host, self._port = split.hostname, split.port
        self._tls = ssl.create_default_context() if split.scheme == "https" else None
        self._base = split.path.rstrip("/").removesuffix(PREFIX) + PREFIX
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._threads = ThreadPoolExecutor(THREADS, "artificer-api")
        self._idle: list[tuple[float, HTTPConnection]] = []
        self._calls = set[ApiCall]()
        self._lock = threading.Lock()

    def close(self) -> None:
        """End what is in progress, and close the connections."""
        with self._lock:
            calls, idle = list(self._calls), [one for _, one in self._idle]
            self._idle.clear()
        for call in calls:
            call.stop()
        for connection in idle:
            connection.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def ask(
        self, kind: type[T], *request: Any, call: ApiCall | None = None, **more: Any
    ) -> T:
        """Send a request in a thread: see `send`. Cancelling it ends it."""
        call = call or ApiCall()
        work = partial(self.send, kind, *request, call=call, **more)
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            call.stop()
            await asyncio.wait((future,))
            future.cancelled() or future.exception()  # it has ended, whatever it was
            raise

    def send(
        self,
        kind: type[T],
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        call: ApiCall | None = None,
        wait: float = 0,
    ) -> T:
        """Send a request until it is answered, and return the answer; bytes for a file.

        A body is a JSON object; ``repeated`` in it is set for all but the first try. ``wait`` is
        how long the server may wait. Raises the error that is answered, UnreachableError.
        """
        call = call or ApiCall()
        target = self._base + "".join(f"/{quote(part, safe='')}" for part in path)
        if query:
            values = {name: value for name, value in query.items() if value is not None}
            target += f"?{urlencode(values)}"
        with self._lock:
            self._calls.add(call)
        try:
            data = self._tried(call, method, target, dict(body) if body is not None else None, wait)
        finally:
            with self._lock:
                self._calls.discard(call)
        if kind is bytes:
            return data  # type: ignore[return-value]
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise err.OperatorError(
                f"{self._host} does not answer like a studio.",
                hint="Name the address of `artificer studio`, of the same release.",
            ) from error

    def _tried(
        self, call: ApiCall, method: str, target: str, body: dict[str, Any] | None, wait: float
    ) -> bytes:
        pause = 0.1
        while True:
            if body is not None and "repeated" in body:
                body["repeated"] = call.tries > 0
            call.tries += 1
            try:
                status, data = self._once(call, method, target, body, wait)
            except (OSError, HTTPException) as error:
                why = str(error) or type(error).__name__
            else:
                if 200 <= status < 300:
                    return data
                if status not in AGAIN:
                    raise self._error(status, data)
                why = f"it answers {status}"
            if call.stopped.is_set() or time.monotonic() + pause > call.deadline:
                raise UnreachableError(
                    f"The studio at {self._host} cannot be reached: {why}.",
                    hint="Check the URL, and that `artificer studio` runs there.",
                )
            call.stopped.wait(pause)
            pause = min(pause * 2, 5.0)

    def _once(
        self, call: ApiCall, method: str, target: str, body: dict[str, Any] | None, wait: float
    ) -> tuple[int, bytes]:
        connection = self._connection()
        data = None if body is None else msgspec.json.encode(body)
        headers = self._headers if data is None else _JSON | self._headers
        kept = False
        try:
            call.uses(connection)
            if connection.sock is None:
                connection.connect()
                call.uses(connection)  # it may have been stopped meanwhile
            connection.sock.settimeout(ANSWER_S + wait)
            connection.request(method, target, data, headers)
            answer = connection.getresponse()
            found = answer.read(MAX_ANSWER + 1)
            if len(found) > MAX_ANSWER:
                raise HTTPException("The answer is too long")
            kept = not answer.will_close
            return answer.status, found
        finally:
            call.drop()
            if kept and not call.stopped.is_set():
                with self._lock:
                    self._idle.append((time.monotonic(), connection))
            else:
                connection.close()

    def _connection(self) -> HTTPConnection:
        with self._lock:
            now = time.monotonic()
            while self._idle:
                at, connection = self._idle.pop()
                if now - at < IDLE_S:
                    return connection
                connection.close()
        if self._tls is not None:
            return HTTPSConnection(self._host, self._port, timeout=CONNECT_S, context=self._tls)
        return HTTPConnection(self._host, self._port, timeout=CONNECT_S)

    def _error(self, status: int, data: bytes) -> err.ArtificerError:
        try:
            found = msgspec.json.decode(data, type=_ErrorAnswer).error
        except (msgspec.MsgspecError, UnicodeError):
            return err.OperatorError(
                f"{self._host} answered {status}, and not as a studio does.",
                hint="Name the address of `artificer studio`.",
            )
        kind = _KINDS.get(found.code, err.OperatorError)
        return kind(found.message, hint=found.hint)


_JSON = {"Content-Type": "application/json"}

_KINDS: dict[str, type[err.ArtificerError]] = {
    kind.code: kind
    for kind in (
        *(err.AuthorError, err.OperatorError, err.ConfigError, err.NotFoundError, err.BudgetError),
        *(err.Fenced, err.OwnedError, err.ConflictError, err.TamperedError, err.AccessError),
        *(err.ExistsError, err.ForbiddenError, err.CanonicalError, err.BugError),
    )
}
"""The errors that an answer may bring, by their codes."""


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
