"""The jobs of workers over HTTP: what waits, who has leased what, and what failed too often."""

from __future__ import annotations

from http import HTTPStatus
from typing import get_args

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from artificer.studio.context import context_of, posted
from artificer.studio.jobs.rows import JobPlace, JobState, next_page
from artificer.studio.pages import page

SHOWN = 50
"""Jobs on a page."""

STATES: tuple[str, ...] = get_args(JobState)


async def show(request: Request) -> Response:
    """Show the jobs in a state, or all, those submitted last first."""
    state, text = request.query_params.get("state"), request.query_params.get("before", "")
    state = state if state in STATES else None
    before = JobPlace.of(text)
    found = context_of(request).jobs.queue.page(state, before, SHOWN)
    values = {"jobs": found, "states": STATES, "state": state, "before": before}
    values["next"] = next_page(found, SHOWN)
    return page(request, "jobs", values)


async def requeue(request: Request) -> Response:
    """Queue a dead letter again, as a person wants, and show the others."""
    await posted(request)
    jobs = context_of(request).jobs
    row = jobs.queue.get(request.path_params["run"])
    await jobs.submit(row.run, row.priority, row.attempts)
    return RedirectResponse("/jobs?state=dead", HTTPStatus.SEE_OTHER)
