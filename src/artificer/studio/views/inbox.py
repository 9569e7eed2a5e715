"""The inbox: everything that waits for a person, across runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from artificer.errors import ArtificerError
from artificer.studio.context import context_of
from artificer.studio.decisions import Decisions, decisions_of
from artificer.studio.pages import page
from artificer.world import World

SEARCHED = 500
"""The newest runs among which those that wait are found."""

SHOWN = 50
"""Runs on the page."""

ENDED = frozenset({"completed", "failed", "partial", "cancelled", "pruned", "unreadable"})
"""Runs that wait for nobody. A call of one may still be in doubt: its page says so."""


async def show(request: Request) -> Response:
    """Show what waits, oldest run first."""
    world = context_of(request).world
    newest = await world.archive.summaries(SEARCHED, builds=True)
    unfinished = [run.run for run in newest if run.status not in ENDED]
    found = [one for run in unfinished if (one := await _waiting(world, run)) is not None]
    below = {wait.run for one in found for wait in one.run.state.waits}
    found = [one for one in found if one.run.id not in below]  # shown with its caller
    hidden = max(0, len(found) - SHOWN)
    return page(request, "inbox", {"found": found[:SHOWN], "hidden": hidden, "searched": SEARCHED})


async def _waiting(world: World, run: str) -> Decisions | None:
    """Return what a run waits for, if it waits."""
    try:
        found = await decisions_of(world, await world.archive.history(run))
    except ArtificerError:  # gone, or damaged, since it was listed
        return None
    return found if found.any or found.run.status == "waiting" else None
