"""Files of a run: its report and its artifacts, in every form that `artificer export` makes."""

from __future__ import annotations

import asyncio
from typing import cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from artificer.errors import NotFoundError
from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS, ArtifactFormat, ReportFormat
from artificer.studio.context import run_of

POLICY = "sandbox; default-src 'none'"
"""A file that a browser shows all the same may do nothing."""

ZIPPED: dict[str, ReportFormat] = {"md": "zip"}
"""Forms of several files are sent as one archive."""


async def report(request: Request) -> Response:
    """Send the report of a run as a file."""
    run, form = await run_of(request), request.path_params["form"]
    if form not in REPORT_FORMS:
        raise NotFoundError(f"There is no form {form!r}.", hint=f"It is {', '.join(REPORT_FORMS)}.")
    form = cast(ReportFormat, form)
    made = await asyncio.to_thread(run.export, form)
    if len(made) > 1:
        form = ZIPPED.get(form, "zip")
        made = await asyncio.to_thread(run.export, form)
    data = next(iter(made.values()))
    return _sent(data, f"{run.id}.{form}", REPORT_FORMS[form].media_type)


async def artifact(request: Request) -> Response:
    """Send an artifact of a run as a file."""
    run, form = await run_of(request), request.path_params["form"]
    if form not in ARTIFACT_FORMS:
        known = ", ".join(ARTIFACT_FORMS)
        raise NotFoundError(f"There is no form {form!r}.", hint=f"It is {known}.")
    form = cast(ArtifactFormat, form)
    found = run.artifacts.find(request.path_params["artifact"])
    data = await asyncio.to_thread(found.export, form)
    name = found.id.rpartition("/")[2]
    name = name if form == "txt" else f"{name}.{form}"
    return _sent(data, name, ARTIFACT_FORMS[form].media_type)


def _sent(data: bytes, name: str, media_type: str) -> Response:
    """Return a file that a browser saves and does not show."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": POLICY,
    }
    return Response(data, media_type=media_type, headers=headers)
