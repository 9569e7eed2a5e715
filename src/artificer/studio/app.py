"""The studio as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount

from artificer.dispatch.agents import NO_AGENTS, Agents
from artificer.errors import ArtificerError, BugError, OperatorError
from artificer.health.health import Health
from artificer.studio.access import Access
from artificer.studio.api.declared import PREFIX
from artificer.studio.api.routes import api
from artificer.studio.assets import ASSETS
from artificer.studio.choices import Offers
from artificer.studio.context import StudioContext
from artificer.studio.executions import Executions
from artificer.studio.jobs.service import Jobs
from artificer.studio.operations import OPERATIONS
from artificer.studio.problems import REPORT_BUG, answer_of, refused
from artificer.studio.protection import HEADERS, Protection
from artificer.studio.routes import ROUTES
from artificer.world import World

log = logging.getLogger("artificer.studio")


def studio(
    world: World, access: Access, hosts: Collection[str], agents: Agents = NO_AGENTS
) -> Starlette:
    """Return the application. ``hosts`` are the Host headers under which it may be reached.

    ``agents`` are those that people may choose, by their names.
    """
    jobs, offers = Jobs(world), Offers(world, agents)
    executions = Executions(world, agents, jobs.wake)
    context = StudioContext(world, executions, offers, agents, jobs, access.tokens)

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
            await context.offers.aclose()
            await jobs.aclose()

    app = Starlette(
        routes=[
            Mount(PREFIX, api(context)),
            *ROUTES,
            *OPERATIONS,
            ASSETS,
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
    app.state.health = Health(world, jobs.metrics)
    return app


async def _index(world: World) -> None:
    """Read what lists of runs need, as of a world that an older release wrote."""
    try:
        await world.archive.index_runs()
    except ArtificerError as error:  # lists do without
        log.warning("the index of runs is not made: %s", error.message)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ArtificerError)
    return answer_of(error, request)


async def _bug(request: Request, _: Exception) -> Response:
    """Answer an internal error without its text, which may contain text of a model or a tool."""
    answer = answer_of(BugError("This is a bug in Artificer.", hint=REPORT_BUG), request)
    answer.headers.update(HEADERS)  # nothing is around the answer of a bug
    return answer


async def _gone(request: Request, _: Exception) -> Response:
    """Answer a form that was cut off, or is longer than its header says."""
    error = OperatorError("The form is incomplete.", hint="Go back and send it again.")
    return answer_of(error, request, HTTPStatus.BAD_REQUEST)


_FAILURES: Mapping[Any, Any] = {
    ArtificerError: _failed,
    ClientDisconnect: _gone,
    HTTPException: refused,
    Exception: _bug,
}
