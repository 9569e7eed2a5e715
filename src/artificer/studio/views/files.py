"""Files of a run: its report and its artifacts, in every form that `artificer export` makes."""

from __future__ import annotations

from functools import partial
from typing import cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from artificer.errors import ArtificerError, NotFoundError
from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS, ArtifactFormat, ReportFormat
from artificer.runs import Run
from artificer.studio.context import context_of, history_of, run_of
from artificer.studio.downloads import RECORDING
from artificer.studio.pages import page
from artificer.studio.problems import status_of
from artificer.studio.versions import version_of

POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A file that a browser shows all the same may do nothing."""

ZIPPED: dict[str, ReportFormat] = {"md": "zip"}
"""Forms of several files are sent as one archive."""


async def report(request: Request) -> Response:
    """Send the report of a run as a file."""
    run, form = await run_of(request), request.path_params["form"]
    if form == RECORDING:
        archive = context_of(request).world.archive
        data = await context_of(request).exports.wait(partial(archive.export_run, run.id))
        return sent(data, f"{run.id}.{RECORDING}", "application/gzip")
    if form not in REPORT_FORMS:
        raise NotFoundError(f"There is no form {form!r}.", hint=f"It is {', '.join(REPORT_FORMS)}.")
    make = partial(report_file, run, cast(ReportFormat, form))
    try:
        data, form = await context_of(request).exports.make(make)
    except ArtificerError as error:
        return _not_made(request, run, f"The report as {form}", error)
    return sent(data, f"{run.id}.{form}", REPORT_FORMS[form].media_type)


async def artifact(request: Request, name: str, form: str) -> Response:
    """Send an artifact of a run, or a ``version`` of it, as a file."""
    history, version = await history_of(request), request.query_params.get("version", "")
    run = history.run
    found = version_of(history, name, version) if version else run.artifacts.find(name)
    made = cast(ArtifactFormat, form)
    try:
        data = await context_of(request).exports.make(partial(found.export, made))
    except ArtificerError as error:
        return _not_made(request, run, f"{found.title or found.id} as {form}", error)
    stem = found.id.rpartition("/")[2]
    file = stem if form == "txt" else f"{stem}.{form}"
    return sent(data, file, ARTIFACT_FORMS[made].media_type)


def report_file(run: Run, form: ReportFormat) -> tuple[bytes, ReportFormat]:
    """Return the report of a run as one file, and its form: several files are an archive."""
    made = run.export(form)
    if len(made) > 1:
        form = ZIPPED.get(form, "zip")
        made = run.export(form)
    return next(iter(made.values())), form


def sent(data: bytes, name: str, media_type: str) -> Response:
    """Return a file that a browser saves and does not show."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": POLICY,
    }
    return Response(data, media_type=media_type, headers=headers)


def _not_made(request: Request, run: Run, what: str, error: ArtificerError) -> Response:
    values = {"run": run, "what": what, "message": error.message, "hint": error.hint or ""}
    return page(request, "not_made", values, status_of(error))
