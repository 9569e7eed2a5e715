"""Who may use the studio: a person with a session, a person named by a proxy, or a token.

The key is random, made at every start, and is part of the address that ``artificer studio``
prints. It is exchanged for a cookie that scripts cannot read and other sites cannot send. The
browser that the command starts gets another key, which opens one session: all users of a machine
can read the command line of a program.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from artificer.errors import AccessError, ForbiddenError
from artificer.studio.identity import ProxyIdentity
from artificer.studio.tokens import SCOPES, ApiTokens, TokenScope

MAX_SESSIONS = 100
"""Sessions that are kept; the oldest is closed for a new one."""


@dataclass(frozen=True)
class Actor:
    """Who sends a request. ``name`` is recorded with what they decide.

    ``form_key`` is in every form that the studio makes for them: another site cannot know it.
    ``sender`` counts their requests; ``is_token`` is set for a program, which sends no forms.
    """

    name: str
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    scopes: frozenset[TokenScope] = frozenset(SCOPES)
    sender: str = ""
    is_token: bool = False

    def made(self, form_key: str) -> bool:
        """Whether a form was made for this person."""
        return not self.is_token and _same(form_key, self.form_key)

    def allows(self, scope: TokenScope) -> bool:
        """Whether they have a right: ``admin`` includes all of them."""
        return scope in self.scopes or "admin" in self.scopes

    def require(self, scope: TokenScope) -> None:
        """Raise ForbiddenError unless they have a right."""
        if self.allows(scope):
            return
        make = f"artificer studio token new NAME --scope {scope}"
        ask = "Ask the person who runs this studio: identity_rights in artificer.toml gives rights."
        hint = make if self.is_token else ask
        raise ForbiddenError(f"This needs the right {scope!r}.", hint=hint)


def cookie_name(request: HTTPConnection) -> str:
    """Return the name of a session's cookie. It holds the port, which cookies do not know of: else
    the studio that a browser opens second would close the session of the first.
    """
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"artificer_studio_{port}" if port.isdecimal() else "artificer_studio"


class Access:
    """The people and programs of one studio.

    ``key`` opens sessions; ``name`` is the user who started it. Without ``tokens`` and
    ``identity`` there is no other way in.
    """

    def __init__(
        self,
        name: str,
        key: str | None = None,
        *,
        tokens: ApiTokens | None = None,
        identity: ProxyIdentity | None = None,
    ) -> None:
        self.key = key or secrets.token_urlsafe(24)
        self.tokens = tokens
        self._name = name
        self._identity = identity
        self._single_key = ""
        self._form_secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, Actor] = OrderedDict()

    def single_key(self) -> str:
        """Return a new key that opens one session; one that was not used ends."""
        self._single_key = secrets.token_urlsafe(24)
        return self._single_key

    def open(self, key: str) -> str | None:
        """Return the cookie of a new session, or None for a wrong key."""
        if self._single_key and _same(key, self._single_key):
            self._single_key = ""
        elif not _same(key, self.key):
            return None
        cookie = secrets.token_urlsafe(24)
        sender = hashlib.sha256(cookie.encode()).hexdigest()
        self._sessions[cookie] = Actor(self._name, sender=f"session {sender}")
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def actor(self, cookie: str | None) -> Actor | None:
        """Return the person behind a cookie, if there is one."""
        return self._sessions.get(cookie) if cookie else None

    def sender(self, request: HTTPConnection, *, is_api: bool) -> Actor | None:
        """Return who sends a request; None for nobody known.

        A token is taken by the API alone. Raises AccessError for one that is not valid,
        TamperedError if tokens cannot be read.
        """
        presented = request.headers.getlist("authorization") if is_api else []
        if presented:
            return self._program(presented)
        address = request.client.host if request.client else ""
        name = self._identity.name(address, request.headers) if self._identity else None
        if self._identity and name is not None:
            return self._person(name, self._identity.rights)
        return self.actor(request.cookies.get(cookie_name(request)))

    def _program(self, presented: list[str]) -> Actor:
        scheme, _, text = presented[0].partition(" ")
        is_bearer = len(presented) == 1 and scheme.lower() == "bearer"
        found = self.tokens.find(text.strip()) if self.tokens and is_bearer else None
        if found is None:
            raise AccessError(
                "This token is invalid or has expired.",
                hint="Create one: artificer studio token new",
            )
        name, sender = f"{found.name} (token {found.id})", f"token {found.id}"
        return Actor(name, "", frozenset(found.scopes), sender, is_token=True)

    def _person(self, name: str, rights: frozenset[TokenScope]) -> Actor:
        """Return a person by name: their forms stay valid as long as the studio runs."""
        form_key = hmac.new(self._form_secret, name.encode(), hashlib.sha256).hexdigest()
        return Actor(name, form_key, rights, f"person {name}")


def _same(sent: str, known: str) -> bool:
    return hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), known.encode())
