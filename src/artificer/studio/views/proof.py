"""Replay and verification: computed when someone wants them, and shown as they came out."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from artificer.studio.context import context_of, posted, run_of
from artificer.studio.pages import page

SHOWN = 100
"""Problems, and facts that drifted, which are shown."""

BUSY = "Another replay or verification is in progress. Try again when it is done."


async def show(request: Request) -> Response:
    """Offer a replay of a run. Nothing is known before it is computed."""
    run = await run_of(request)
    return page(request, "replay", {"run": run, "replay": None, "problem": "", "seconds": 0})


async def replay(request: Request) -> Response:
    """Reduce a run's journal again, and show what it came to."""
    context, _ = context_of(request), await posted(request)
    run = await run_of(request)
    values: dict[str, Any] = {"run": run, "replay": None, "problem": "", "seconds": 0}
    if context.proving.locked():
        return page(request, "replay", {**values, "problem": BUSY}, HTTPStatus.CONFLICT)
    async with context.proving:
        begun = time.monotonic()
        found = await context.world.archive.replay(run.id)
    values |= {"replay": found, "seconds": time.monotonic() - begun, "drift": found.drift[:SHOWN]}
    return page(request, "replay", values)


async def offer(request: Request) -> Response:
    """Offer a verification of the world."""
    return page(request, "verify", {"found": None, "problem": "", "seconds": 0})


async def verify(request: Request) -> Response:
    """Check every record, blob and workspace of the world, and show what is wrong."""
    context, _ = context_of(request), await posted(request)
    if context.proving.locked():
        busy = {"found": None, "problem": BUSY, "seconds": 0}
        return page(request, "verify", busy, HTTPStatus.CONFLICT)
    async with context.proving:
        begun = time.monotonic()
        found = await context.world.archive.verify()
    values = {"found": found, "problem": "", "seconds": time.monotonic() - begun}
    return page(request, "verify", {**values, "problems": found.problems[:SHOWN]})
