"""The checks of every request to the studio: its host, its origin, its size, and who sends it.

A page of another site can make a browser send requests to this machine. The host rules out names
that were made to point here (DNS rebinding), the origin and the form key forged requests, the
policy of each answer what a model's text may not do: run, fetch, be framed, imitate a form's
target. Sources: OWASP cheat sheets "Cross-Site Request Forgery Prevention" and "HTTP Headers".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from artificer.studio.access import COOKIE, Access

MAX_BODY = 1_000_000
"""Bytes of a request's body."""

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

    def __init__(self, app: ASGIApp, access: Access, hosts: Collection[str]) -> None:
        """``hosts`` are the values of the Host header under which the studio may be reached."""
        self._app = app
        self._access = access
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope) or self._entrance(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self._app(scope, _bounded(receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self._hosts:
            return _refused(HTTPStatus.MISDIRECTED_REQUEST, "The studio has another address.")
        if int(headers.get("content-length") or 0) > MAX_BODY:
            return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"At most {MAX_BODY} bytes.")
        if scope["method"] in SAFE:
            return None
        origin = headers.get("origin", "")
        if origin.partition("://")[2] not in self._hosts:
            return _refused(HTTPStatus.FORBIDDEN, "This request comes from another site.")
        return None

    def _entrance(self, scope: Scope) -> Response | None:
        """Exchange a key for a cookie, and let nobody in without one."""
        request = HTTPConnection(scope)
        key = request.query_params.get("key")
        if scope["path"] == "/" and key is not None:
            cookie = self._access.open(key)
            if cookie is None:
                return _locked()
            answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
            answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict")
            return answer
        actor = self._access.actor(request.cookies.get(COOKIE))
        if actor is None and not scope["path"].startswith("/static/"):
            return _locked()
        scope.setdefault("state", {})["actor"] = actor
        return None


def _locked() -> Response:
    return _refused(
        HTTPStatus.UNAUTHORIZED,
        "This studio is locked. Open the address that `artificer studio` printed, with its key.",
    )


def _refused(status: HTTPStatus, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)


def _with_headers(send: Sender) -> Sender:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            message["headers"] = headers.raw
        await send(message)

    return sending


def _bounded(receive: Receive) -> Receive:
    """End a request whose body is longer than it may be, also without a length of its own."""
    left = MAX_BODY

    async def receiving() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return receiving
