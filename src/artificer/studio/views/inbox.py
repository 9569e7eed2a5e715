"""The inbox: every call and plan that waits for a person, across runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from artificer.studio.context import context_of
from artificer.studio.pages import page

SEARCHED = 500
"""The newest runs among which those that wait are found."""


async def show(request: Request) -> Response:
    """Show what waits, oldest run first."""
    world = context_of(request).world
    found = await world.archive.summaries(SEARCHED, builds=True)
    waiting = [await world.get(run.run) for run in found if run.status == "waiting"]
    return page(request, "inbox", {"runs": waiting, "searched": SEARCHED})
