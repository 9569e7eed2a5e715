"""Health and metrics of the studio: for probes, and for Prometheus with a token."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from artificer.health.exposition import MEDIA_TYPE
from artificer.health.health import Health
from artificer.studio.context import actor_of
from artificer.studio.protection import METRICS


async def _live(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _ready(request: Request) -> Response:
    problem = await _health(request).problem()
    status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
    return PlainTextResponse("not ready\n" if problem else "ok\n", status)


async def _metrics(request: Request) -> Response:
    actor_of(request).require("read")
    return Response(await _health(request).metrics(), media_type=MEDIA_TYPE)


def _health(request: Request) -> Health:
    return cast(Health, request.app.state.health)


OPERATIONS = (
    Route("/healthz", _live),
    Route("/readyz", _ready),
    Route(METRICS, _metrics),
)
