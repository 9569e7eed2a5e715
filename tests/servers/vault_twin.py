"""A twin of a vault's HTTP API, as far as secrets of KV, version 2 are read: `GET /v1/…/data/…`,
and, with AppRole, `POST /v1/auth/approle/login` and `POST /v1/auth/token/renew-self`.

It answers as HashiCorp Vault and OpenBao document it, and misbehaves as a test wants.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hvs.CAESIJ7twinTokenOfTests"


class VaultTwin(ThreadingHTTPServer):
    """``secrets`` are those of ``secret/data/team/artificer``; ``seen`` are the requests."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.secrets: dict[str, Any] = {}
        self.token = TOKEN
        self.status = 200
        self.location = ""
        self.body: bytes | None = None
        self.drips = threading.Event()
        self.stopped = threading.Event()
        self.seen: list[tuple[str, str]] = []
        self.role = ("role-of-tests", "secret-id-of-tests")
        self.logins = 0
        self.life, self.renewable = 300, True

    @property
    def url(self) -> str:
        """The address of the secret."""
        return f"http://127.0.0.1:{self.server_port}/secret/team/artificer"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: VaultTwin

    def do_GET(self) -> None:
        twin = self.server
        twin.seen.append((self.path, self.headers.get("X-Vault-Token", "")))
        if twin.drips.is_set():
            self._drip()
        elif twin.status != 200 or twin.body is not None:
            self._answer(twin.status, twin.body or b'{"errors":[]}')
        elif self.headers.get("X-Vault-Token") != twin.token:
            self._answer(403, b'{"errors":["permission denied"]}')
        elif self.path != "/v1/secret/data/team/artificer":
            self._answer(404, b'{"errors":[]}')
        else:
            data = {"data": twin.secrets, "metadata": {"version": 3, "destroyed": False}}
            self._answer(200, json.dumps({"request_id": "1", "data": data}).encode())

    def do_POST(self) -> None:
        twin, token = self.server, self.headers.get("X-Vault-Token", "")
        twin.seen.append((self.path, token))
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/auth/approle/login":
            if (sent["role_id"], sent["secret_id"]) != twin.role:
                return self._answer(400, b'{"errors":["invalid role or secret ID"]}')
            twin.logins += 1
            twin.token = f"hvs.login-{twin.logins}"
        elif self.path != "/v1/auth/token/renew-self" or token != twin.token:
            return self._answer(403, b'{"errors":["permission denied"]}')
        auth = {"client_token": twin.token, "accessor": "a", "policies": ["default"]}
        auth |= {"lease_duration": twin.life, "renewable": twin.renewable}
        return self._answer(200, json.dumps({"request_id": "1", "auth": auth}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        """Send a byte now and then, and never all."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server.stopped.wait(0.02):
            self.wfile.write(b"x")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def vault_twin() -> Iterator[VaultTwin]:
    """A twin that listens on a port of this machine."""
    with VaultTwin() as twin:
        serving = threading.Thread(target=twin.serve_forever, args=(0.02,), daemon=True)
        serving.start()
        try:
            yield twin
        finally:
            twin.stopped.set()
            twin.shutdown()
            serving.join()
