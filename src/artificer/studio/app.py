"""The studio as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from artificer.errors import ArtificerError
from artificer.render.stylesheet import tokens
from artificer.studio.access import Access
from artificer.studio.api.declared import PREFIX
from artificer.studio.api.routes import api
from artificer.studio.context import StudioContext
from artificer.studio.executions import Executions
from artificer.studio.problems import actor_at, answer_of, refused
from artificer.studio.protection import HEADERS, Protection
from artificer.studio.views import (
    artifacts,
    attached,
    checklists,
    compare,
    decide,
    files,
    home,
    inbox,
    proof,
    records,
    reports,
    run,
    runs,
    search,
    sources,
    tree,
)
from artificer.world import World

log = logging.getLogger("artificer.studio")

STATIC = str(resources.files("artificer.studio") / "static")

RUNNING = (
    Route("/", home.show),
    Route("/inbox", inbox.show),
    Route("/search", search.show),
    Route("/runs", runs.show),
    Route("/runs", home.begin, methods=["POST"]),
    Route("/runs/{run}", run.show),
    Route("/runs/{run}/body", run.body),
    Route("/runs/{run}/events", run.events),
    Route("/runs/{run}/decisions/{kind}", decide.decide, methods=["POST"]),
    Route("/runs/{run}/checklists", checklists.show),
    Route("/runs/{run}/checklists/changes", checklists.changes),
    Route("/runs/{run}/checklists/{checklist}", checklists.tick, methods=["POST"]),
)
"""Runs as they form, and what waits for a person."""

LOOKING_BACK = (
    Route("/verify", proof.offer),
    Route("/verify", proof.verify, methods=["POST"]),
    Route("/runs/{run}/replay", proof.show),
    Route("/runs/{run}/replay", proof.replay, methods=["POST"]),
    Route("/runs/{run}/records", records.timeline),
    Route("/runs/{run}/records/{seq}", records.record),
    Route("/runs/{run}/records/{seq}/fork", records.fork, methods=["POST"]),
    Route("/compare", compare.show),
    Route("/runs/{run}/compare", compare.choose),
    Route("/runs/{run}/sources", sources.show),
    Route("/runs/{run}/sources/{artifact:path}", sources.artifact),
    Route("/runs/{run}/tree", tree.show),
    Route("/runs/{run}/tree/{seq}", tree.change),
)
"""The records of runs, step by step."""

MADE = (
    Route("/runs/{run}/report", run.report),
    Route("/runs/{run}/files/{digest}", attached.show),
    Route("/runs/{run}/files/{digest}/data", attached.send),
    Route("/runs/{run}/export/{form}", files.report),
    Route("/runs/{run}/report/{seq}", reports.frame),
    Route("/runs/{run}/artifacts", artifacts.overview),
    Route("/runs/{run}/artifacts/report", reports.show),
    Route("/runs/{run}/artifacts/report/changes", reports.changes),
    Route("/runs/{run}/artifacts/{artifact:path}", artifacts.show),
)
"""The reports, artifacts and files of runs."""


def studio(world: World, access: Access, hosts: Collection[str]) -> Starlette:
    """Return the application. ``hosts`` are the Host headers under which it may be reached."""
    context = StudioContext(world, Executions(world), access.tokens)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        indexing = asyncio.create_task(_index(world))
        try:
            yield
        finally:
            indexing.cancel()
            await asyncio.wait((indexing,))
            await context.broadcasts.aclose()
            await context.executions.aclose()

    app = Starlette(
        routes=[
            Mount(PREFIX, api(context)),
            *RUNNING,
            *LOOKING_BACK,
            *MADE,
            Route("/runs/{run}/{action}", run.act, methods=["POST"]),
            Route("/static/tokens.css", _tokens),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(
                Protection,
                access=access,
                hosts=hosts,
                per_minute=world.config.studio.requests_per_minute,
            )
        ],
        exception_handlers=_FAILURES,
        lifespan=lifespan,
    )
    app.state.studio = context
    return app


async def _index(world: World) -> None:
    """Read what lists of runs need, as of a world that an older release wrote."""
    try:
        await world.archive.index_runs()
    except ArtificerError as error:  # lists do without
        log.warning("the index of runs is not made: %s", error.message)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ArtificerError)
    return answer_of(error, request.url.path, actor=actor_at(request))


async def _broken(request: Request, _: Exception) -> Response:
    """Answer what a bug has broken; the server writes the bug to its log."""
    error = ArtificerError("The studio could not do this.", hint="Its log says why.")
    answer = answer_of(error, request.url.path, actor=actor_at(request))
    answer.headers.update(HEADERS)
    return answer


async def _tokens(_: Request) -> Response:
    """Return what reports and the studio share: type, space and colour."""
    return Response(tokens(), media_type="text/css")


_FAILURES: Mapping[Any, Any] = {
    ArtificerError: _failed,
    HTTPException: refused,
    Exception: _broken,
}
