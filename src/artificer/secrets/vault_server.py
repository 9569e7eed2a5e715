"""Requests to a vault: each has an end, a limit of size, and goes to no other server."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from artificer.errors import OperatorError
from artificer.secrets.vault_environment import vault_setting

TIMEOUT_S = 5.0
"""Seconds in which the server connects, and continues with its answer. All of it may take twice as
long.
"""

MAX_ANSWER = 2_000_000
"""Bytes of the longest answer; a secret of a vault has a megabyte at most."""


class VaultServer:
    """The server of a vault, at the address in ``url``, by which errors name it."""

    def __init__(self, url: str, timeout: float = TIMEOUT_S) -> None:
        self.url = url
        self._parts = urlsplit(url)
        self._timeout = timeout

    def ask(self, path: str, token: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Ask once: with a ``body``, POST it. Return the status and the answer.

        No redirect is followed, which would take the token to another server. Raises OperatorError.
        """
        headers = {"X-Vault-Request": "true", "Connection": "close"}
        headers |= {"X-Vault-Token": token} if token else {}
        if namespace := vault_setting("NAMESPACE"):
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
                    status, answer = self._exchange(line, host, path, headers, body)
                finally:
                    end.cancel()
                    same.close()
            if is_late.is_set():  # what has come so far may look like all of it
                raise TimeoutError
        except (OSError, HTTPException, ValueError) as error:
            raise OperatorError(
                f"{self.url} does not answer ({type(error).__name__})",
                hint="Check the address, the network and VAULT_CACERT.",
            ) from None
        if len(answer) > MAX_ANSWER:
            raise OperatorError(f"{self.url}: the answer is longer than {MAX_ANSWER} bytes")
        return status, answer

    def _exchange(
        self,
        line: socket.socket,
        host: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> tuple[int, bytes]:
        connection = HTTPConnection(self._parts.netloc)
        connection.sock = line
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cafile=vault_setting("CACERT") or None)
            connection.sock = context.wrap_socket(line, server_hostname=host)
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, headers=dict(headers))
            with connection.getresponse() as answer:
                return answer.status, answer.read(MAX_ANSWER + 1)
        finally:
            connection.close()


def _cut(line: socket.socket, is_late: threading.Event) -> None:
    """End a connection that others wait for: a server may send a byte now and then for hours."""
    is_late.set()
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
