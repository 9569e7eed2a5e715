"""Secrets of a HashiCorp Vault or an OpenBao: the keys of one secret of its engine KV, version 2.

Setting: ``vault:https://HOST:8200/MOUNT/PATH``. The token is ``VAULT_TOKEN`` or ``BAO_TOKEN``, or
in the file that ``VAULT_TOKEN_FILE`` names or the command line of either has left, which is
``~/.vault-token``. It is read for each request, so a renewed token needs no restart.
Or it is that of a login with AppRole (`vault_login`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote, urlsplit

import msgspec

from artificer.errors import ConfigError, OperatorError
from artificer.secrets.vault_login import VaultLogin
from artificer.secrets.vault_server import TIMEOUT_S, VaultServer
from artificer.system.loopback import OWN_NAMES

SHARED_S, FAILED_S = 1.0, 10.0
"""Seconds for which an answer, or that there is none, is that for others too: a process asks for
many names at once, and all of them come with one answer.
"""

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
        self._server = VaultServer(url, timeout)
        self._login = VaultLogin(self._server, now)
        self._request = f"/v1/{quote(mount)}/data/{quote(path)}"
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
        values = self._read()
        with self._lock:
            return {**values, **self._login.at_hand()}

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
        status, body = self._server.ask(self._request, self._login.token())
        if status == 403 and self._login.forget():  # it may have been revoked: log in once more
            status, body = self._server.ask(self._request, self._login.token())
        if status == 404:
            return {}
        if status != 200:
            why = _WHY.get(status, f"the server answered {status}")
            raise OperatorError(f"{self._url}: {why}", hint=_HINTS.get(status))
        try:
            data = msgspec.json.decode(body, type=_Answer).data.data or {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise OperatorError(
                f"{self._url}: this is not a secret of KV, version 2",
                hint="Check the mount and the path: vault:https://HOST:8200/MOUNT/PATH.",
            ) from None
        return {name: value for name, value in data.items() if isinstance(value, str) and value}


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
        plain = parts.scheme == "http" and host in OWN_NAMES
        steps = {"", ".", ".."}.isdisjoint((mount, *path.split("/")))
        beyond = parts.query or parts.fragment or "@" in parts.netloc
        if not (host and steps and (plain or parts.scheme == "https")) or beyond:
            raise ConfigError(
                "The source of secrets 'vault' has no usable address.",
                hint="Write 'vault:https://HOST:8200/MOUNT/PATH', without a name or a token in it.",
            )
        return VaultSecret(url, mount, path)


VAULT = _Vault()
