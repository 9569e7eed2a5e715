"""The first page: a prompt, what waits for a person, and the newest runs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from artificer.studio.context import context_of
from artificer.studio.pages import page
from artificer.studio.prompt import Draft, prompt_values

NEWEST = 50
"""Runs on a page."""

WAITING = 10
"""Runs that wait for a person, on this page. The inbox has all."""


async def show(
    request: Request, *, draft: Draft | None = None, problem: str = "", field: str = ""
) -> Response:
    """Show the world at a glance. ``field`` of the form is the one that the problem is about."""
    context = context_of(request)
    archive = context.world.archive
    runs = (await archive.list_runs(NEWEST, at_once=True, builds=False)).runs
    waiting = await archive.list_runs(WAITING, at_once=True, waiting=True)
    values: dict[str, Any] = {
        "runs": runs,
        "waiting": waiting.runs,
        "field": field,
        **await prompt_values(context, draft, problem),
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return page(request, "home", values, status)
