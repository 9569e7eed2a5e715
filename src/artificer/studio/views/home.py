"""The first page: a prompt, what waits for a person, and the newest runs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from artificer.agent import Agent
from artificer.errors import ArtificerError
from artificer.studio.context import context_of, posted
from artificer.studio.pages import page

NEWEST = 50
"""Runs on a page."""

WAITING = 10
"""Runs that wait for a person, on this page. The inbox has all."""


async def show(request: Request, *, problem: str = "", prompt: str = "") -> Response:
    """Show the world at a glance."""
    context = context_of(request)
    archive = context.world.archive
    runs = (await archive.list_runs(NEWEST, at_once=True, builds=False)).runs
    waiting = await archive.list_runs(WAITING, at_once=True, waiting=True)
    values: dict[str, Any] = {
        "runs": runs,
        "waiting": waiting.runs,
        "model": context.world.config.model or "",
        "problem": problem,
        "prompt": prompt,
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return page(request, "home", values, status)


async def begin(request: Request) -> Response:
    """Begin a run, and go to its page."""
    context, form = context_of(request), await posted(request)
    prompt, model = form.text("prompt"), form.text("model")
    if not prompt:
        return await show(request, problem="The prompt is empty.")
    run = context.world.clock.new_run_id()
    agent = Agent(model=model or None)
    try:
        context.executions.start(run, lambda: context.world.run(prompt, agent, run_id=run))
        await context.begun(run)
    except ArtificerError as error:
        return await show(request, problem=f"{error.message} {error.hint or ''}", prompt=prompt)
    return RedirectResponse(f"/runs/{run}", HTTPStatus.SEE_OTHER)
