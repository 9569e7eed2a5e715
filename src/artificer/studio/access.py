"""Who may use the studio: one key opens a session, and a session is a cookie.

The key is random, made at every start, and is part of the address that ``artificer studio``
prints. It is exchanged for a cookie that scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

COOKIE = "artificer_studio"

MAX_SESSIONS = 100
"""Sessions that are kept; the oldest is closed for a new one."""


@dataclass(frozen=True)
class Actor:
    """A person with a session. ``name`` is recorded with what they decide.

    ``form_key`` is in every form that the studio makes for them: another site cannot know it.
    """

    name: str
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)

    def made(self, form_key: str) -> bool:
        """Whether a form was made for this person."""
        return hmac.compare_digest(form_key.encode(), self.form_key.encode())


class Access:
    """The sessions of one studio. ``key`` opens them; ``name`` is the user who started it."""

    def __init__(self, name: str, key: str | None = None) -> None:
        self.key = key or secrets.token_urlsafe(24)
        self._name = name
        self._sessions: OrderedDict[str, Actor] = OrderedDict()

    def open(self, key: str) -> str | None:
        """Return the cookie of a new session, or None for a wrong key."""
        if not hmac.compare_digest(key.encode(), self.key.encode()):
            return None
        cookie = secrets.token_urlsafe(24)
        self._sessions[cookie] = Actor(self._name)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def actor(self, cookie: str | None) -> Actor | None:
        """Return the person behind a cookie, if there is one."""
        return self._sessions.get(cookie) if cookie else None
