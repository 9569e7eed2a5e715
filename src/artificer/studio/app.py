"""The studio as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from artificer.errors import ArtificerError, NotFoundError
from artificer.studio.access import Access
from artificer.studio.context import StudioContext
from artificer.studio.executions import Executions
from artificer.studio.protection import Protection
from artificer.studio.views import decide, home, inbox, proof, records, run, search
from artificer.world import World


def studio(world: World, access: Access, hosts: Collection[str]) -> Starlette:
    """Return the application. ``hosts`` are the Host headers under which it may be reached."""
    executions = Executions(world)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await executions.aclose()

    app = Starlette(
        routes=[
            Route("/", home.show),
            Route("/inbox", inbox.show),
            Route("/search", search.show),
            Route("/runs", home.begin, methods=["POST"]),
            Route("/runs/{run}", run.show),
            Route("/runs/{run}/body", run.body),
            Route("/runs/{run}/report", run.report),
            Route("/runs/{run}/events", run.events),
            Route("/verify", proof.offer),
            Route("/verify", proof.verify, methods=["POST"]),
            Route("/runs/{run}/replay", proof.show),
            Route("/runs/{run}/replay", proof.replay, methods=["POST"]),
            Route("/runs/{run}/records", records.timeline),
            Route("/runs/{run}/records/{seq}", records.record),
            Route("/runs/{run}/records/{seq}/fork", records.fork, methods=["POST"]),
            Route("/runs/{run}/decisions/{kind}", decide.decide, methods=["POST"]),
            Route("/runs/{run}/{action}", run.act, methods=["POST"]),
            Mount("/static", StaticFiles(directory=str(files("artificer.studio") / "static"))),
        ],
        middleware=[
            Middleware(
                Protection,
                access=access,
                hosts=hosts,
                per_minute=world.config.studio.requests_per_minute,
            )
        ],
        exception_handlers={NotFoundError: _not_found, ArtificerError: _failed},
        lifespan=lifespan,
    )
    app.state.studio = StudioContext(world, executions)
    return app


async def _not_found(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 404)


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, ArtificerError)
    return PlainTextResponse(f"{error.message}\n{error.hint or ''}\n", 409)
