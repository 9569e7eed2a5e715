"""Errors as answers: pages for people, ``{"error": {"code", "message", "hint"}}`` for programs.

The code is that of the error tree (`artificer.errors`). An error without its own status has
that of its nearest base.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from artificer import errors as err
from artificer.studio.pages import page

if TYPE_CHECKING:
    from collections.abc import Mapping

API = "/api/"
"""Where the paths of programs begin."""

STATUSES: Mapping[type[err.ArtificerError], HTTPStatus] = {
    err.ArtificerError: HTTPStatus.INTERNAL_SERVER_ERROR,
    err.AuthorError: HTTPStatus.UNPROCESSABLE_ENTITY,
    err.OperatorError: HTTPStatus.CONFLICT,
    err.MissingExtraError: HTTPStatus.NOT_IMPLEMENTED,
    err.NotFoundError: HTTPStatus.NOT_FOUND,
    err.TamperedError: HTTPStatus.INTERNAL_SERVER_ERROR,
    err.AccessError: HTTPStatus.UNAUTHORIZED,
    err.ForbiddenError: HTTPStatus.FORBIDDEN,
    err.RateLimitError: HTTPStatus.TOO_MANY_REQUESTS,
    err.ModelError: HTTPStatus.BAD_GATEWAY,
    err.CallError: HTTPStatus.CONFLICT,
}


class ErrorBody(msgspec.Struct, frozen=True):
    """An error. ``code`` is stable; ``hint`` says what to do, where that is known."""

    code: str
    message: str
    hint: str | None = None


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: ErrorBody


def status_of(error: err.ArtificerError) -> HTTPStatus:
    """Return the status of an error: its own, or that of its nearest base."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


TITLES: Mapping[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "This cannot be done",
    HTTPStatus.UNAUTHORIZED: "Locked",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "This cannot be done",
    HTTPStatus.CONFLICT: "Not now",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Too large",
    HTTPStatus.MISDIRECTED_REQUEST: "Wrong address",
    HTTPStatus.UNPROCESSABLE_ENTITY: "This cannot be done",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something is wrong",
    HTTPStatus.NOT_IMPLEMENTED: "Not installed",
}
"""Headings of the pages that say why something was not done."""

DAMAGED = "Something here is damaged"

REPORT_BUG = "Please report it, with what the log of the studio says."


def answer_of(
    error: err.ArtificerError, request: HTTPConnection, status: HTTPStatus | None = None
) -> Response:
    """Return the answer of an error: JSON for programs, and a page for people."""
    status = status or status_of(error)
    is_api = request.scope["path"].startswith(API)
    answer = data_of(error, status) if is_api else _page(error, request, status)
    if isinstance(error, err.RateLimitError):
        answer.headers["Retry-After"] = str(error.seconds)
    if status == HTTPStatus.UNAUTHORIZED and is_api:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="artificer"'
    return answer


def data_of(error: err.ArtificerError, status: HTTPStatus | None = None) -> Response:
    """Return the answer of an error for programs."""
    body = ErrorAnswer(ErrorBody(error.code, error.message, error.hint))
    data = msgspec.json.encode(body)
    return Response(data, status or status_of(error), media_type="application/json")


def _page(error: err.ArtificerError, request: HTTPConnection, status: HTTPStatus) -> Response:
    is_damage = isinstance(error, err.TamperedError)
    values = {
        "title": DAMAGED if is_damage else TITLES.get(status, status.phrase),
        "message": error.message,
        "hint": error.hint or "",
        "is_damage": is_damage,
        "leads_to_run": status == HTTPStatus.NOT_FOUND and not error.hint,
        "run": request.scope.get("path_params", {}).get("run", ""),
    }
    return page(request, "problem", values, status)


async def refused(request: Request, error: Exception) -> Response:
    """Answer a request for what is not there, or in a way that is not there."""
    assert isinstance(error, HTTPException)
    is_api = request.scope["path"].startswith(API)
    hint = "/api/v1/openapi.json lists what there is." if is_api else None
    found = err.NotFoundError(f"{error.detail.removesuffix('.')}.", hint=hint)
    answer = answer_of(found, request, HTTPStatus(error.status_code))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer
