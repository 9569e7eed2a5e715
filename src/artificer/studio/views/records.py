"""The timeline of a run: its records one by one, the state at each, and a fork from there."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from artificer.errors import ArtificerError, NotFoundError
from artificer.runs import History
from artificer.runtime.fork import ForkChanges, plan_fork
from artificer.studio.beginning import fork as begin_fork
from artificer.studio.context import context_of, history_of, posted
from artificer.studio.moments import PAGE, entries, moment
from artificer.studio.pages import page
from artificer.studio.versions import ArtifactVersion, versions


async def timeline(request: Request) -> Response:
    """Show a page of a run's records."""
    history = await history_of(request)
    count = len(history.lines)
    begin = min(max(1, number(request.query_params.get("from", "1"))), max(1, count))
    end = min(count, begin + PAGE - 1)
    shown = list(entries(history.lines[:end]))[begin - 1 :]
    values = {"run": history.run, "entries": shown, "count": count, "begin": begin, "end": end}
    return page(request, "timeline", {**values, "step": PAGE})


async def record(request: Request, *, problem: str = "", text: str = "") -> Response:
    """Show one record, with the state after it."""
    history = await history_of(request)
    seq = number(request.path_params["seq"])
    if not 1 <= seq <= len(history.lines):
        raise NotFoundError(f"The run has no record {seq}; it has {len(history.lines)}.")
    name, made = _made(history, seq)
    values = {
        "run": history.run,
        "made": made,
        "made_name": name,
        "moment": moment(history.lines, seq),
        "count": len(history.lines),
        "boundary": _boundary(history, seq),
        "problem": problem,
        "text": text,
    }
    return page(request, "record", values, HTTPStatus.CONFLICT if problem else HTTPStatus.OK)


async def fork(request: Request) -> Response:
    """Begin a run with the facts up to a record, and go to its page."""
    context, form = context_of(request), await posted(request)
    history, seq = await history_of(request), number(request.path_params["seq"])
    if not 1 <= seq <= len(history.lines):
        raise NotFoundError(f"The run has no record {seq}.")
    steer, edited = form.text("text"), form.data.get("content")
    changes = ForkChanges(at=seq, steer=steer)
    recorded = moment(history.lines, seq).editable
    if isinstance(edited, str) and recorded is not None:
        edited = edited.replace("\r\n", "\n")
        if edited.strip() != recorded.replace("\r\n", "\n").strip():
            changes = ForkChanges(edits={seq: edited}, steer=steer)
    try:
        run = await begin_fork(context, history.run, changes)
    except ArtificerError as error:
        return await record(
            request, problem=f"{error.message} {error.hint or ''}".strip(), text=steer
        )
    return RedirectResponse(f"/runs/{run}", HTTPStatus.SEE_OTHER)


def number(text: str) -> int:
    """Return a number in an address; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else 0


def _made(history: History, seq: int) -> tuple[str, ArtifactVersion | None]:
    """The version of an artifact that a record made, or its withdrawal, with ``kind:id``."""
    found = versions(history.lines, history.data)
    for (kind, name), kept in found.artifacts.items():
        for version in kept:
            if version.seq == seq:
                return f"{kind}:{name}", version
    return "", None


def _boundary(history: History, seq: int) -> int:
    """The last record that a fork at a record takes; 0 if none can begin."""
    spec = history.run.state.run_spec
    try:
        return plan_fork(history.lines, ForkChanges(at=seq, steer="More."), spec).boundary
    except ArtificerError:
        return 0
