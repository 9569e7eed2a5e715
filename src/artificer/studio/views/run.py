"""The page of a run: its course, its artifacts as they appear, and what a person may do."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from artificer.core.signals import Cancel, FollowUp, Interrupt, Pause, Signal, Steer
from artificer.errors import AuthorError, ConfigError, NotFoundError
from artificer.events import ModelDelayed
from artificer.runs import History
from artificer.runtime.abandoned import AbandonedRun, abandoned_runs
from artificer.runtime.delays import retry_at
from artificer.runtime.explaining.submitted import why_abandoned
from artificer.runtime.listing.queued import is_for_workers, is_queued
from artificer.studio.bodies import FORM_KEY, SPACING, spacing_ms
from artificer.studio.context import (
    MAX_FILES,
    READ_FILES,
    Form,
    StudioContext,
    actor_of,
    context_of,
    history_of,
    posted,
    run_of,
)
from artificer.studio.decisions import decisions_of
from artificer.studio.downloads import downloads_of
from artificer.studio.live import EVENT_STREAM, after_of, number_in
from artificer.studio.pages import page, rendered
from artificer.studio.standing import AT_A_WORKER, used_of, waits_of
from artificer.studio.transcript import transcript
from artificer.studio.views.decide import can_be_revised
from artificer.wiring.checklists import last_change

REPORT_POLICY = (
    "sandbox allow-popups allow-downloads;"
    " default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
"""The report brings its own policy, which is stricter; this one is for its frame."""

TEXTS: dict[str, type[Steer | FollowUp]] = {"steer": Steer, "follow-up": FollowUp}
ENDINGS: dict[str, type[Pause | Interrupt | Cancel]] = {
    "pause": Pause,
    "interrupt": Interrupt,
    "cancel": Cancel,
}
ACTIONS = {"resume", *TEXTS, *ENDINGS}


MAX_WAITS = 20
"""Things that a run waits for, which are named."""


class WrittenMessage(NamedTuple):
    """A message to a run as someone has written it."""

    action: str = ""
    text: str = ""
    had_files: bool = False


async def show(request: Request) -> Response:
    """Show a run."""
    return page(request, "run", await values_of(request))


async def body(request: Request) -> Response:
    """Show the part of the page that changes with each record.

    With ``seq``, the last record that the reader knows, it may be one that was made for others.
    """
    actor, run = actor_of(request), request.path_params["run"]
    executions = context_of(request).executions

    async def make() -> tuple[int, str]:
        values = await values_of(request)
        shared = replace(actor, form_key=FORM_KEY)
        return values["story"].seq, rendered("run_body", {**values, "actor": shared})

    seq = number_in(request.query_params.get("seq", ""), -1)
    if seq < 0:
        return page(request, "run_body", await values_of(request))
    context = context_of(request)
    standing = executions.executes(run), executions.problem(run, over=False)
    text = await context.bodies.get((run, actor.scopes, standing), seq, make)
    headers = {SPACING: str(spacing_ms(context.broadcasts.watchers))}
    return HTMLResponse(text.replace(FORM_KEY, actor.form_key), headers=headers)


async def values_of(request: Request) -> dict[str, Any]:
    """Return what the page of a run shows."""
    context = context_of(request)
    history = await history_of(request)
    run, state = history.run, history.run.state
    events = run.events
    story, here = transcript(events), context.executions.executes(run.id)
    journal = context.world.storage.journal
    by_workers = not here and await is_for_workers(journal, run.id, state.run_spec)
    abandoned = await _abandoned(context, history) if by_workers else []
    is_left = any(one.run == run.id for one in abandoned)
    queued = by_workers and is_queued(state.run_spec, run.status, len(history.lines))
    queued = queued and not is_left
    waits = [AT_A_WORKER] if queued else list(waits_of(state, history.lines))
    if is_left and state.standing == "open" and not state.only_waits:
        waits = []  # nobody works on its open intents
    return {
        "run": run,
        "story": story,
        "decisions": await decisions_of(context.world, history),
        "checklists": context.world.checklists.of(state),
        "changed": last_change(events),
        "notice": "",
        "downloads": downloads_of(run),
        "revisable": can_be_revised(state),
        "over": state.status is not None and not here,  # it may be about to go on
        "used": list(used_of(state, await context.world.archive.budget())),
        "queued": queued,
        "waits": waits[:MAX_WAITS],
        "abandoned": why_abandoned(run.id, abandoned),
        "retry_at": retry_at(state, history.lines) if by_workers and not abandoned else None,
        "max_files": MAX_FILES,
        "takes_files": state.build is None,
        "draft": WrittenMessage(),
        "problem": "",
        "here": here,
        "delay": _delay(context, run.id),
        "spacing_ms": spacing_ms(context.broadcasts.watchers),
        "failure": context.executions.problem(run.id, over=state.status is not None),
    }


async def _abandoned(context: StudioContext, history: History) -> list[AbandonedRun]:
    """Return which of a run and of those that it waits for workers leave alone."""
    world, run = context.world, history.run
    folder = world.config.project_folder
    return await abandoned_runs(world.storage, folder, run.id, run.state, history.lines)


def _delay(context: StudioContext, run: str) -> ModelDelayed | None:
    """Return why the model is asked again, and when, if that is still to come."""
    found = context.broadcasts.delay(run)
    return found if found and found.until > context.world.clock.now() else None


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
    """Do what a person wants of a run, and show its page; with what they wrote, if it fails."""
    context, form = context_of(request), await posted(request, files=READ_FILES)
    run, action = await run_of(request), request.path_params["action"]
    if action not in ACTIONS:
        raise NotFoundError(f"There is no action {action!r}.")
    signal = _signal(action, form, actor_of(request).name)
    try:
        if signal is not None:
            if action in TEXTS and not form.text("text"):
                raise AuthorError("The message is empty.")
            files = await form.attachments()
            await context.world.send(run.id, signal, attachments=files)
        if action == "resume":
            await context.executions.resume_here(run.id)
        elif action != "pause":
            await context.executions.resume(run.id)
    except (AuthorError, ConfigError) as error:
        values = await values_of(request)
        values["problem"] = f"{error.message} {error.hint or ''}".strip()
        values["draft"] = WrittenMessage(action, form.text("text"), form.has_files())
        return page(request, "run", values, HTTPStatus.BAD_REQUEST)
    return RedirectResponse(f"/runs/{run.id}", HTTPStatus.SEE_OTHER)


def _signal(action: str, form: Form, by: str) -> Signal | None:
    """Return the signal of an action; None for the one that only continues a run."""
    text = form.text("text")
    if kind := TEXTS.get(action):
        return kind(by=by, text=text)
    if ending := ENDINGS.get(action):
        return ending(by=by, reason=text)
    return None
