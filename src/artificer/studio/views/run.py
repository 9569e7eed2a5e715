"""The page of a run: its course, its artifacts as they appear, and what a person may do."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from artificer.core.signals import Cancel, FollowUp, Interrupt, Pause, Signal, Steer
from artificer.errors import NotFoundError
from artificer.studio.context import Form, actor_of, context_of, history_of, posted, run_of
from artificer.studio.decisions import decisions_of
from artificer.studio.downloads import downloads_of
from artificer.studio.live import EVENT_STREAM, after_of, number_in
from artificer.studio.pages import page
from artificer.studio.transcript import transcript
from artificer.studio.views.decide import can_be_revised, topmost

REPORT_POLICY = (
    "sandbox allow-popups allow-downloads;"
    " default-src 'none'; style-src 'unsafe-inline'; img-src data:"
)
"""The report brings a policy of its own, which is stricter; this one is for its frame."""

TEXTS: dict[str, type[Steer | FollowUp]] = {"steer": Steer, "follow-up": FollowUp}
ENDINGS: dict[str, type[Pause | Interrupt | Cancel]] = {
    "pause": Pause,
    "interrupt": Interrupt,
    "cancel": Cancel,
}
ACTIONS = {"resume", *TEXTS, *ENDINGS}


async def show(request: Request) -> Response:
    """Show a run."""
    return page(request, "run", await values_of(request))


async def body(request: Request) -> Response:
    """Show the part of the page that changes with each record."""
    return page(request, "run_body", await values_of(request))


async def values_of(request: Request) -> dict[str, Any]:
    """Return what the page of a run shows."""
    context = context_of(request)
    history = await history_of(request)
    run = history.run
    story, here = transcript(run.events), context.executions.executes(run.id)
    return {
        "run": run,
        "story": story,
        "decisions": await decisions_of(context.world, history),
        "checklists": context.world.checklists.of(run.state),
        "said": "",
        "downloads": downloads_of(run),
        "revisable": can_be_revised(run.state),
        "over": run.state.status is not None and not here,  # it may be about to go on
        "here": here,
        "failure": context.executions.failures.get(run.id, ""),
    }


async def report(request: Request) -> Response:
    """Show the report, finished or as far as it is, in a frame without any rights."""
    run = await run_of(request)
    return HTMLResponse(run.draft_html, headers={"Content-Security-Policy": REPORT_POLICY})


async def events(request: Request) -> Response:
    """Stream the events of a run from the record after ``after``, or after the last one seen."""
    run = await run_of(request)
    after = after_of(request, number_in(request.query_params.get("after", ""), 0))
    pieces = context_of(request).broadcasts.pieces(run.id, after)
    return StreamingResponse(pieces, media_type=EVENT_STREAM)


async def act(request: Request) -> Response:
    """Do what a person wants of a run, and show its page again."""
    context, form = context_of(request), await posted(request)
    run, action = await run_of(request), request.path_params["action"]
    if action not in ACTIONS:
        raise NotFoundError(f"There is no action {action!r}.")
    signal = _signal(action, form, actor_of(request).name)
    if signal is not None:
        await context.world.send(run.id, signal)
    if action != "pause":
        context.executions.resume(await topmost(context.world, run))
    return RedirectResponse(f"/runs/{run.id}", HTTPStatus.SEE_OTHER)


def _signal(action: str, form: Form, by: str) -> Signal | None:
    """Return the signal of an action; None for the one that only continues a run."""
    text = form.text("text")
    if kind := TEXTS.get(action):
        return kind(by=by, text=text)
    if ending := ENDINGS.get(action):
        return ending(by=by, reason=text)
    return None
