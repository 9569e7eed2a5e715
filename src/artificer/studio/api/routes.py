"""The API as an ASGI application: a route for each endpoint, and errors as JSON."""

from __future__ import annotations

from collections import defaultdict
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from artificer.errors import (
    ArtificerError,
    BugError,
    InvalidValueError,
    NotFoundError,
    OperatorError,
)
from artificer.studio.api.declared import PREFIX, ApiEndpoint
from artificer.studio.api.endpoints import ENDPOINTS
from artificer.studio.api.openapi import document
from artificer.studio.problems import REPORT_BUG, answer_of, data_of, refused

if TYPE_CHECKING:
    from artificer.studio.context import StudioContext


def api(context: StudioContext) -> Starlette:
    """Return the application, to be mounted at ``/api/v1``."""
    by_path: dict[str, list[ApiEndpoint]] = defaultdict(list)
    for endpoint in ENDPOINTS:
        by_path[endpoint.path].append(endpoint)
    app = Starlette(
        routes=[
            Route("/openapi.json", _openapi),
            *(_route(path, found) for path, found in by_path.items()),
        ],
        exception_handlers={
            ArtificerError: _failed,
            ClientDisconnect: _gone,
            HTTPException: refused,
            Exception: _bug,
        },
    )
    app.state.studio = context
    return app


_DOCUMENTED = f"{PREFIX}/openapi.json says what it takes."

_READABLE = frozenset(one.path for one in ENDPOINTS if one.method == "GET")


def _look_at(path: str) -> str:
    """Return the hint for a missing path: the nearest path above that can be read."""
    above = path.rpartition("/")[0]
    while above and above not in _READABLE:
        above = above.rpartition("/")[0]
    return f"GET {PREFIX}{above or '/openapi.json'} shows what there is."


def _route(path: str, endpoints: list[ApiEndpoint]) -> Route:
    by_method = {endpoint.method: endpoint for endpoint in endpoints}
    if "GET" in by_method:
        by_method["HEAD"] = by_method["GET"]  # type: ignore[index]

    async def serve(request: Request) -> Response:
        try:
            return await by_method[request.method].serve(request)  # type: ignore[index]
        except NotFoundError as error:
            error.hint = error.hint or _look_at(path)
            raise
        except InvalidValueError as error:
            error.hint = error.hint or _DOCUMENTED
            raise

    return Route(path, serve, methods=list(by_method))


async def _openapi(_: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type="application/json")


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ArtificerError)
    return answer_of(error, request)


async def _gone(_: Request, __: Exception) -> Response:
    """Answer a body that was cut off, or is longer than its header says."""
    error = OperatorError("The body of the request is incomplete.", hint="Send it again.")
    return data_of(error, HTTPStatus.BAD_REQUEST)


async def _bug(_: Request, __: Exception) -> Response:
    """Answer an internal error without its text, which may contain text of a model or a tool."""
    return data_of(BugError("This is a bug in Artificer.", hint=REPORT_BUG))
