"""Who asks a vault: a token that others renew, or a login with AppRole that renews its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from artificer.errors import OperatorError
from artificer.secrets.vault_environment import vault_setting
from artificer.secrets.vault_server import VaultServer

RENEWED_AT = 2 / 3
"""The part of a token's life after which it is renewed."""


class _Auth(msgspec.Struct):
    client_token: str
    lease_duration: int = 0
    renewable: bool = False


class _Answer(msgspec.Struct):
    auth: _Auth


class VaultLogin:
    """The token for a vault. For one thread at a time.

    With ``VAULT_ROLE_ID`` and no token in the environment, it is that of a login with AppRole: it
    is renewed before it ends, and where that is refused, another login replaces it.
    """

    def __init__(self, server: VaultServer, now: Callable[[], float]) -> None:
        self._server = server
        self._now = now
        self._auth: _Auth | None = None
        self._began = 0.0

    def token(self) -> str:
        """Return the token for the next request. Raises OperatorError."""
        role = _role()
        if not role:
            return _token_of_others()
        if self._auth is None:
            self._log_in(role)
        elif self._auth.lease_duration:  # nothing: it does not end
            age, life = self._now() - self._began, self._auth.lease_duration
            if age >= life or (age >= life * RENEWED_AT and not self._renewed(self._auth)):
                self._log_in(role)
        assert self._auth is not None
        return self._auth.client_token

    def forget(self) -> bool:
        """Forget a token that was refused; return whether there may be another one."""
        was_there, self._auth = self._auth is not None, None
        return was_there and bool(_role())

    def at_hand(self) -> Mapping[str, str]:
        """Return what is secret about it."""
        found = {"token of the vault": self.token()}
        return found | {"secret id of the vault": _secret_id()} if _role() else found

    def _log_in(self, role: str) -> None:
        self._auth = None
        mount = vault_setting("APPROLE_PATH") or "approle"
        body = {"role_id": role, "secret_id": _secret_id()}
        began = self._now()
        status, answer = self._server.ask(
            f"/v1/auth/{quote(mount)}/login", "", msgspec.json.encode(body)
        )
        if status != 200:
            raise OperatorError(
                f"{self._server.url}: the login with AppRole was refused ({status})",
                hint="Check VAULT_ROLE_ID, and put a new secret id into the file that "
                "VAULT_SECRET_ID_FILE names.",
            )
        self._take(answer, began)

    def _renewed(self, auth: _Auth) -> bool:
        """Extend the token's life; return False if another login is to replace it."""
        if not auth.renewable:
            return False
        began = self._now()
        status, answer = self._server.ask("/v1/auth/token/renew-self", auth.client_token, b"{}")
        if status != 200:
            return False
        self._take(answer, began)
        # at the end of its longest life it is given back with less and less
        return self._auth is not None and self._auth.lease_duration >= auth.lease_duration / 2

    def _take(self, answer: bytes, began: float) -> None:
        try:
            auth = msgspec.json.decode(answer, type=_Answer).auth
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise OperatorError(
                f"{self._server.url}: this is not an answer to a login",
                hint="Check the address in the setting secrets.",
            ) from None
        if not _is_token(auth.client_token):
            raise OperatorError(
                f"{self._server.url}: this is not an answer to a login",
                hint="Check the address in the setting secrets.",
            )
        self._auth, self._began = auth, began


def _role() -> str:
    return "" if vault_setting("TOKEN") else vault_setting("ROLE_ID")


def _secret_id() -> str:
    named = vault_setting("SECRET_ID_FILE")
    found = _text(Path(named)) if named else ""
    if not _is_token(found):
        raise OperatorError(
            "There is no secret id for the vault",
            hint="Set VAULT_SECRET_ID_FILE to the file that contains it.",
        )
    return found


def _token_of_others() -> str:
    token = vault_setting("TOKEN")
    if not token:
        named = vault_setting("TOKEN_FILE")
        token = _text(Path(named) if named else None)
    if not _is_token(token):
        raise OperatorError(
            "There is no token for the vault",
            hint="Set VAULT_TOKEN or VAULT_TOKEN_FILE, log in with `vault login`, or set "
            "VAULT_ROLE_ID and VAULT_SECRET_ID_FILE.",
        )
    return token


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable()


def _text(path: Path | None) -> str:
    """Return the text of a file, or, of none, of the one that the vault's command leaves."""
    try:
        file = path or Path.home() / ".vault-token"
        with file.open(encoding="ascii") as opened:
            return opened.read(10_000).strip()
    except (OSError, UnicodeDecodeError, RuntimeError):
        return ""
