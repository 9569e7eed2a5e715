"""The checks of every request to the studio: its host, its origin, its size, and who sends it.

A page of another site can make a browser send requests to this machine. The host rules out names
that were made to point here (DNS rebinding), the origin and the form key forged requests, the
policy of each answer what a model's text may not do: run, fetch, be framed, imitate a form's
target. Sources: OWASP cheat sheets "Cross-Site Request Forgery Prevention" and "HTTP Headers".
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from artificer.errors import AccessError, ArtificerError, ForbiddenError, RateLimitError
from artificer.studio.access import Access, Actor, cookie_name
from artificer.studio.problems import API, answer_of
from artificer.studio.rates import RateLimit

MAX_BODY = 1_000_000
"""Bytes of a request's body."""

MAX_UPLOAD = 64_000_000
"""Bytes of the body of a request that may bring files."""

UPLOADS = re.compile(
    r"(/api/v1)?/runs(/[^/]+/(steer|follow-up))?|/api/v1/jobs/[^/]+/(records|blobs)"
)
"""The paths that take files, records and blobs."""

PER_MINUTE = 600
"""Requests of one sender that are counted: those to the API, and changes."""

JOBS, WORK = "/api/v1/jobs/", 20
"""Where workers record each step of their runs, and how many times as many requests those are."""

FAILURES_PER_MINUTE = 60
"""Requests of one address that are answered although nobody known has sent them."""

_ENTRANCE = re.compile(r"/|/runs/[^/]+")
"""The pages that an address with the key may begin with."""

OPEN = frozenset({"/healthz", "/readyz"})
"""The paths that are answered to anyone: a word, and nothing about any run."""

METRICS = "/metrics"

LOCKED = "This studio is locked. Open the address that `artificer studio` printed, with its key."

LOCKED_API = "Send a token: Authorization: Bearer …"

OTHER_ADDRESS = (
    "Use the address that `artificer studio` printed; `hosts` in [studio] adds others to it."
)

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with none, browsers hide the origin of forms, too
    "X-Content-Type-Options": "nosniff",
}

Sender = Callable[[Message], Awaitable[None]]


class Protection:
    """Answers what is not allowed, and adds the security headers to everything else."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        hosts: Collection[str],
        per_minute: int = PER_MINUTE,
    ) -> None:
        """``hosts`` are the values of the Host header under which the studio may be reached."""
        self._app = app
        self._access = access
        self._hosts = frozenset(hosts)
        self._rates = RateLimit(per_minute)
        self._work = RateLimit(per_minute * WORK)
        self._failures = RateLimit(FAILURES_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        try:
            answer = self._refusal(request) or self._entrance(request)
        except ArtificerError as error:
            answer = answer_of(error, request)
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
            return
        await self._app(scope, _bounded(receive, _limit(request)), _with_headers(send))

    def _refusal(self, request: HTTPConnection) -> Response | None:
        """Answer a request that is refused to everyone."""
        headers = request.headers
        if headers.get("host", "") not in self._hosts:
            error = AccessError("This is not an address of the studio.", hint=OTHER_ADDRESS)
            return answer_of(error, request, HTTPStatus.MISDIRECTED_REQUEST)
        length = headers.get("content-length") or "0"
        limit = _limit(request)
        if not (length.isascii() and length.isdecimal()) or int(length[:20]) > limit:
            is_form = limit > MAX_BODY
            hint = "Go back: what you have written is still there." if is_form else "Send less."
            error = AccessError(f"A request has at most {limit:,} bytes here.", hint=hint)
            return answer_of(error, request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return None

    def _entrance(self, request: HTTPConnection) -> Response | None:
        """Exchange a key for a cookie, and let nobody in whom nothing identifies."""
        path, key = request.scope["path"], request.query_params.get("key")
        if _ENTRANCE.fullmatch(path) and key is not None:
            return self._opened(request, key)
        if path in OPEN:
            return None
        is_api = path.startswith(API) or path == METRICS
        try:
            actor = self._access.sender(request, is_api=is_api)
        except AccessError:
            self._count_failure(request)
            raise
        if actor is None and not path.startswith("/static/"):
            self._count_failure(request)
            raise AccessError(LOCKED, hint=LOCKED_API if is_api else None)
        if actor is not None:
            self._check(request, actor, is_api=is_api)
        request.scope.setdefault("state", {})["actor"] = actor
        return None

    def _opened(self, request: HTTPConnection, key: str) -> Response:
        cookie = self._access.open(key)
        if cookie is None:
            self._count_failure(request)
            raise AccessError(LOCKED)
        answer = RedirectResponse(quote(request.scope["path"]), HTTPStatus.SEE_OTHER)
        answer.set_cookie(cookie_name(request), cookie, httponly=True, samesite="strict")
        return answer

    def _check(self, request: HTTPConnection, actor: Actor, *, is_api: bool) -> None:
        """Refuse what another site has made a browser send, and too much of anything."""
        is_safe = request.scope["method"] in SAFE
        origin = request.headers.get("origin")
        if origin is None and actor.is_token:
            pass  # no browser sends a token without its origin
        elif not is_safe and (origin or "").partition("://")[2] not in self._hosts:
            raise ForbiddenError("This request comes from another site.", hint=OTHER_ADDRESS)
        if is_api and not is_safe and not actor.is_token:
            form_key = request.headers.get("x-form-key", "")
            if not actor.made(form_key):
                error = "This request needs a token, or the form key of a page."
                raise ForbiddenError(error, hint=LOCKED_API)
        if is_api or not is_safe:
            is_work = actor.is_token and request.scope["path"].startswith(JOBS)
            self._count(self._work if is_work else self._rates, actor.sender)

    def _count_failure(self, request: HTTPConnection) -> None:
        self._count(self._failures, request.client.host if request.client else "")

    @staticmethod
    def _count(rates: RateLimit, sender: str) -> None:
        if seconds := rates.take(sender):
            raise RateLimitError("Too many requests.", seconds=seconds)


def _with_headers(send: Sender) -> Sender:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            message["headers"] = headers.raw
        await send(message)

    return sending


def _limit(request: HTTPConnection) -> int:
    """The bytes that a request may have."""
    takes_files = UPLOADS.fullmatch(request.scope["path"]) is not None
    return MAX_UPLOAD if takes_files else MAX_BODY


def _bounded(receive: Receive, limit: int) -> Receive:
    """End a request whose body is longer than it may be, also without its own length."""
    left = limit

    async def receiving() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return receiving
