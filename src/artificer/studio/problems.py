"""Errors as answers: a status, and for programs ``{"error": {"code", "message", "hint"}}``.

The code is that of the error tree (`artificer.errors`). An error without a status of its own has
that of its nearest base.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from artificer import errors as err
from artificer.studio.access import Actor
from artificer.studio.pages import problem_page

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
    """An error. ``code`` is stable; ``hint`` says what to do, where that can be said."""

    code: str
    message: str
    hint: str | None = None


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: ErrorBody


def status_of(error: err.ArtificerError) -> HTTPStatus:
    """Return the status of an error: its own, or that of its nearest base."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def answer_of(
    error: err.ArtificerError,
    path: str,
    status: HTTPStatus | None = None,
    actor: Actor | None = None,
) -> Response:
    """Return the answer of an error: JSON for programs, and a page for people."""
    status = status or status_of(error)
    if path.startswith(API):
        body = ErrorAnswer(ErrorBody(error.code, error.message, error.hint))
        answer = Response(msgspec.json.encode(body), status, media_type="application/json")
    else:
        answer = problem_page(error, status, actor)
    if isinstance(error, err.RateLimitError):
        answer.headers["Retry-After"] = str(error.seconds)
    if status == HTTPStatus.UNAUTHORIZED and path.startswith(API):
        answer.headers["WWW-Authenticate"] = 'Bearer realm="artificer"'
    return answer


def actor_at(request: Request) -> Actor | None:
    """Return who sends a request, if that is known already."""
    actor: Actor | None = getattr(request.state, "actor", None)
    return actor


async def refused(request: Request, error: Exception) -> Response:
    """Answer a request for what is not there, or in a way that is not there."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    hint = "/api/v1/openapi.json lists what there is." if path.startswith(API) else None
    found = err.NotFoundError(f"{error.detail.removesuffix('.')}.", hint=hint)
    answer = answer_of(found, path, HTTPStatus(error.status_code), actor_at(request))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer
