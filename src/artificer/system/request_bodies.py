"""The limit on the bodies of requests that an ASGI application reads."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def too_long(length: str, limit: int) -> bool:
    """Whether the header ``Content-Length`` names more bytes than this, or is no number."""
    return not (length.isascii() and length.isdecimal()) or int(length[:20]) > limit


def bounded(receive: Receive, limit: int) -> Receive:
    """End a request whose body is longer than it may be, also without its own length."""
    left = limit

    async def receiving() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return receiving


def with_limit(application: ASGIApp, limit: int) -> ASGIApp:
    """Return an application that refuses a request with a longer body, before it is read."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if lengths and too_long(lengths[0].decode("latin-1"), limit):
            text = f"A request has at most {limit:,} bytes here.\n".encode()
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            head = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text))]
            await send({"type": "http.response.start", "status": status, "headers": head})
            await send({"type": "http.response.body", "body": text})
            return
        await application(scope, bounded(receive, limit), send)

    return limited
