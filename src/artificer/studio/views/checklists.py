"""Checklists of a run: people tick off items, and see at once what others tick."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from artificer.artifacts.ticked import TickedChecklist
from artificer.errors import ConflictError, InvalidValueError
from artificer.studio.context import Form, actor_of, context_of, posted, run_of
from artificer.studio.live import EVENT_STREAM, after_of, number_in
from artificer.studio.pages import page
from artificer.studio.views.run import values_of
from artificer.wiring.checklists import last_change


async def show(request: Request) -> Response:
    """Show the part of the run's page that holds its checklists."""
    run = await run_of(request)
    values = {
        "run": run,
        "checklists": context_of(request).world.checklists.of(run.state),
        "changed": last_change(run.events),
        "notice": "",
    }
    return page(request, "checklists", values)


async def tick(request: Request) -> Response:
    """Tick off an item, or take the tick back, and show the run's page again.

    After a conflict the page shows the checklist as it is now.
    """
    context, form = context_of(request), await posted(request)
    run, name = request.path_params["run"], request.path_params["checklist"]
    try:
        ticked = await context.world.checklists.tick(
            run,
            name,
            form.text("item"),
            checked=form.text("checked") == "yes",
            by=actor_of(request).name,
            seen=_seen(name, form),
        )
    except ConflictError as error:
        notice = f"{error.message} Nothing was changed."
        return await _with_notice(request, notice, HTTPStatus.CONFLICT)
    if not ticked.recorded:
        notice = "The tick is stored, and will be recorded when the run continues."
        return await _with_notice(request, notice, HTTPStatus.ACCEPTED)
    return RedirectResponse(f"/runs/{run}#checklist-{ticked.checklist.id}", HTTPStatus.SEE_OTHER)


async def _with_notice(request: Request, notice: str, status: HTTPStatus) -> Response:
    return page(request, "run", {**await values_of(request), "notice": notice}, status)


def _seen(name: str, form: Form) -> TickedChecklist:
    """Return what the person saw of the checklist. Raises InvalidValueError."""
    revision = form.text("revision")
    if not (revision.isascii() and revision.isdecimal() and len(revision) < 10):
        raise InvalidValueError("the form", "/revision", "is not a whole number")
    return TickedChecklist(name, "", form.text("version"), int(revision), ())


async def changes(request: Request) -> Response:
    """Stream a word for each change of a checklist after a record, also of a run that has ended."""
    run = (await run_of(request)).id
    world = context_of(request).world
    after = after_of(request, number_in(request.query_params.get("after", ""), 0))

    async def pieces() -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        async for seq in world.checklists.changes(run, after):
            yield b"id: %d\nevent: changed\ndata: %d\n\n" % (seq, seq)

    return StreamingResponse(pieces(), media_type=EVENT_STREAM)
