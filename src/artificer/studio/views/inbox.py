"""The inbox: everything that waits for a person, across runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from artificer.errors import ArtificerError
from artificer.studio.context import context_of
from artificer.studio.decisions import Decisions, decisions_of
from artificer.studio.pages import page, rendered
from artificer.world import World

SHOWN = 50
"""Runs on the page."""


async def show(request: Request) -> Response:
    """Show what waits, oldest run first."""
    world = context_of(request).world
    after = request.query_params.get("after") or None
    waiting = await world.archive.list_runs(
        SHOWN, after, at_once=True, waiting=True, oldest_first=True
    )
    found = [one for run in waiting.runs if (one := await _waiting(world, run.run)) is not None]
    below = {wait.run for one in found for wait in one.run.state.waits}
    found = [one for one in found if one.run.id not in below]  # shown with its caller
    values = {"found": found, "next": waiting.next, "searched": waiting.searched, "after": after}
    return page(request, "inbox", values)


async def count(request: Request) -> Response:
    """Show how many runs wait, as every page does next to its link to the inbox."""
    found = await context_of(request).inbox.get()
    return HTMLResponse(rendered("inbox_count", {"inbox": found}))


async def _waiting(world: World, run: str) -> Decisions | None:
    """Return what a run waits for, if it waits."""
    try:
        found = await decisions_of(world, await world.archive.history(run))
    except ArtificerError:  # gone, or damaged, since it was listed
        return None
    return found if found.any or found.run.status == "waiting" else None
