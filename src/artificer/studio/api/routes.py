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

from artificer.errors import ArtificerError, BugError, OperatorError
from artificer.studio.api.declared import ApiEndpoint
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


def _route(path: str, endpoints: list[ApiEndpoint]) -> Route:
    by_method = {endpoint.method: endpoint for endpoint in endpoints}
    if "GET" in by_method:
        by_method["HEAD"] = by_method["GET"]  # type: ignore[index]

    async def serve(request: Request) -> Response:
        return await by_method[request.method].serve(request)  # type: ignore[index]

    return Route(path, serve, methods=list(by_method))


async def _openapi(_: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type="application/json")


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ArtificerError)
    return answer_of(error, request)


async def _gone(_: Request, __: Exception) -> Response:
    """Answer a body that was cut off, or is longer than its header says."""
    error = OperatorError("The body of the request is incomplete.")
    return data_of(error, HTTPStatus.BAD_REQUEST)


async def _bug(_: Request, __: Exception) -> Response:
    """Answer a bug without its text, which may hold text of a model or a tool."""
    return data_of(BugError("This is a bug in Artificer.", hint=REPORT_BUG))
