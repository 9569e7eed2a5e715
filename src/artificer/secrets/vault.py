"""Secrets of a HashiCorp Vault or an OpenBao: the keys of one secret of its engine KV, version 2.

Setting: ``vault:https://HOST:8200/MOUNT/PATH``. The token is ``VAULT_TOKEN`` or ``BAO_TOKEN``, or
in the file that ``VAULT_TOKEN_FILE`` names or the command line of either has left, which is
``~/.vault-token``. It is read for each request: whoever renews it need not start anything again.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import msgspec

from artificer.errors import ConfigError, OperatorError

TIMEOUT_S = 5.0
"""Seconds in which the server connects, and goes on with its answer. All of it may take twice as
long.
"""

SHARED_S, FAILED_S = 1.0, 10.0
"""Seconds for which an answer, or that there is none, is that for others too: a process asks for
many names at once, and all of them come with one answer.
"""

MAX_ANSWER = 2_000_000
"""Bytes of the longest answer; a secret of a vault has a megabyte at most."""

_HERE = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts to which the token is sent without encryption."""

_WHY = {
    400: "the server did not understand the request",
    403: "the token is not valid, or may not read it",
    429: "the server has had too many requests",
    472: "the server is a standby for disaster recovery",
    473: "the server is a standby for performance",
    503: "the vault is sealed or being maintained",
}


_HINTS = {403: "Renew the token, or let its policy read the secret."}


class _Version(msgspec.Struct):
    data: dict[str, object] | None = None


class _Answer(msgspec.Struct):
    data: _Version


class VaultSecret:
    """One secret of a vault; the names of its keys are those of the secrets here."""

    local = False

    def __init__(
        self,
        url: str,
        mount: str,
        path: str,
        *,
        timeout: float = TIMEOUT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._parts = urlsplit(url)
        self._request = f"/v1/{quote(mount)}/data/{quote(path)}"
        self._timeout = timeout
        self._now = now
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._values: dict[str, str] = {}
        self._failed: OperatorError | None = None

    def resolve(self, name: str) -> str | None:
        """Return the value of a key, also in small letters. Raises OperatorError."""
        values = self._read()
        return next((v for n in (name, name.lower()) if (v := values.get(n))), None)

    def place(self, name: str) -> str:
        """Return the secret and its key."""
        return f"{self._url}#{name}"

    def at_hand(self) -> Mapping[str, str]:
        """Return all keys, which come with one answer, and the vault's token."""
        return self._read() | {"token of the vault": _token()}

    def _read(self) -> dict[str, str]:
        with self._lock:  # those who wait for it get the same answer
            if self._now() >= self._until:
                try:
                    self._values, self._failed = self._ask(), None
                except OperatorError as error:
                    self._failed = error
                self._until = self._now() + (FAILED_S if self._failed else SHARED_S)
            if self._failed is not None:
                raise OperatorError(self._failed.message, hint=self._failed.hint)
            return self._values

    def _ask(self) -> dict[str, str]:
        status, body = self._get()
        if status == 404:
            return {}
        if status != 200:
            why = _WHY.get(status, f"the server answered {status}")
            raise OperatorError(f"{self._url}: {why}", hint=_HINTS.get(status))
        try:
            data = msgspec.json.decode(body, type=_Answer).data.data or {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise OperatorError(f"{self._url}: this is not a secret of KV, version 2") from None
        return {name: value for name, value in data.items() if isinstance(value, str) and value}

    def _get(self) -> tuple[int, bytes]:
        """Ask once. No redirect is followed, which would take the token to another server."""
        headers = {"X-Vault-Token": _token(), "X-Vault-Request": "true", "Connection": "close"}
        if namespace := os.environ.get("VAULT_NAMESPACE") or os.environ.get("BAO_NAMESPACE"):
            headers["X-Vault-Namespace"] = namespace
        host = self._parts.hostname or ""
        port = self._parts.port or (443 if self._parts.scheme == "https" else 80)
        try:
            with socket.create_connection((host, port), self._timeout) as line:
                same, is_late = line.dup(), threading.Event()
                end = threading.Timer(2 * self._timeout, _cut, (same, is_late))
                end.daemon = True
                end.start()
                try:
                    status, body = self._exchange(line, host, headers)
                finally:
                    end.cancel()
                    same.close()
            if is_late.is_set():  # what has come so far may look like all of it
                raise TimeoutError
        except (OSError, HTTPException, ValueError) as error:
            raise OperatorError(
                f"{self._url} does not answer ({type(error).__name__})",
                hint="Check the address, the network and VAULT_CACERT.",
            ) from None
        if len(body) > MAX_ANSWER:
            raise OperatorError(f"{self._url}: the answer is longer than {MAX_ANSWER} bytes")
        return status, body

    def _exchange(
        self, line: socket.socket, host: str, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection = HTTPConnection(self._parts.netloc)
        connection.sock = line
        if self._parts.scheme == "https":
            authorities = os.environ.get("VAULT_CACERT") or os.environ.get("BAO_CACERT") or None
            context = ssl.create_default_context(cafile=authorities)
            connection.sock = context.wrap_socket(line, server_hostname=host)
        try:
            connection.request("GET", self._request, headers=dict(headers))
            with connection.getresponse() as answer:
                return answer.status, answer.read(MAX_ANSWER + 1)
        finally:
            connection.close()


def _cut(line: socket.socket, is_late: threading.Event) -> None:
    """End a connection that others wait for: a server may send a byte now and then for hours."""
    is_late.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _token() -> str:
    token = os.environ.get("VAULT_TOKEN") or os.environ.get("BAO_TOKEN") or ""
    if not token:
        try:
            named = os.environ.get("VAULT_TOKEN_FILE", "")
            file = Path(named) if named else Path.home() / ".vault-token"
            with file.open(encoding="ascii") as opened:
                token = opened.read(10_000).strip()
        except (OSError, UnicodeDecodeError, RuntimeError):
            token = ""
    if not token or not (token.isascii() and token.isprintable()):
        raise OperatorError(
            "There is no token for the vault",
            hint="Set VAULT_TOKEN or VAULT_TOKEN_FILE, or log in with `vault login`.",
        )
    return token


class _Vault:
    def open(self, setting: str) -> VaultSecret:
        """Return the secret of a setting. Nobody is asked yet."""
        url = setting.partition(":")[2]
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            parts, host = urlsplit(""), ""
        mount, _, path = unquote(parts.path).strip("/").partition("/")
        plain = parts.scheme == "http" and host in _HERE
        steps = {"", ".", ".."}.isdisjoint((mount, *path.split("/")))
        beyond = parts.query or parts.fragment or "@" in parts.netloc
        if not (host and steps and (plain or parts.scheme == "https")) or beyond:
            raise ConfigError(
                "The source of secrets 'vault' has no usable address.",
                hint="Write 'vault:https://HOST:8200/MOUNT/PATH', without a name or a token in it.",
            )
        return VaultSecret(url, mount, path)


VAULT = _Vault()
