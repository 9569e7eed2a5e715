"""The report of a run in all its versions, and what changed between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from artificer.artifacts.ref import ArtifactRef
from artificer.errors import NotFoundError
from artificer.studio.context import history_of
from artificer.studio.downloads import artifact_path, report_forms
from artificer.studio.pages import page
from artificer.studio.prose import prose_diff
from artificer.studio.versions import ArtifactVersion, ReportVersion, versions
from artificer.studio.views.records import number
from artificer.studio.views.run import REPORT_POLICY


class ArtifactFate(NamedTuple):
    """An artifact that one of two reports has, or both in different versions."""

    word: str
    name: str
    title: str
    link: str


async def show(request: Request) -> Response:
    """Show a version of the report, and list all of them."""
    history = await history_of(request)
    kept = versions(history.lines, history.data).reports
    version = chosen(kept, request.query_params.get("version", "")) if kept else None
    values = {
        "run": history.run,
        "versions": kept,
        "version": version,
        "is_newest": version is None or version is kept[-1],
        "forms": report_forms(history.run),
    }
    return page(request, "report_page", values)


async def frame(request: Request) -> Response:
    """Show the report as it was after a record, in a frame without any rights."""
    history = await history_of(request)
    run = history.at(max(1, number(request.path_params["seq"])))
    return HTMLResponse(run.draft_html, headers={"Content-Security-Policy": REPORT_POLICY})


async def changes(request: Request) -> Response:
    """Show what changed between two versions of the report."""
    history = await history_of(request)
    found = versions(history.lines, history.data)
    kept = found.reports
    if not kept:
        raise NotFoundError("The run has written no report yet.")
    query = request.query_params
    other = chosen(kept, query.get("b", ""))
    before = str(max(1, other.number - 1))
    one = chosen(kept, query.get("a", "") or before)
    compared = await asyncio.to_thread(prose_diff, one.narrative, other.narrative)
    values = {
        "run": history.run,
        "versions": kept,
        "one": one,
        "other": other,
        "changes": compared,
        "fates": fates_of(history.run.id, one, other, found.artifacts),
    }
    return page(request, "report_changes", values)


def chosen(kept: Sequence[ReportVersion], text: str) -> ReportVersion:
    """Return the version of a number, or the newest. Raises NotFoundError."""
    if not text:
        return kept[-1]
    found = next((version for version in kept if str(version.number) == text), None)
    if found is None:
        raise NotFoundError(f"There is no such version; there are {len(kept)}.")
    return found


def fates_of(
    run: str,
    one: ReportVersion,
    other: ReportVersion,
    made: Mapping[tuple[str, str], Sequence[ArtifactVersion]],
) -> list[ArtifactFate]:
    """Return what became of the artifacts between two versions of a report."""
    before = {(ref.kind, ref.id): ref for ref in one.artifacts}
    after = {(ref.kind, ref.id): ref for ref in other.artifacts}
    found = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        word = "new" if old is None else "withdrawn" if new is None else "changed"
        ref = new or old
        assert ref is not None
        name = f"{ref.kind}:{ref.id}"
        link = artifact_path(run, name)
        kept = made.get(key, ())
        numbers = [_number(kept, ref) for ref in (old, new)]
        if all(numbers):
            link += "/changes?a={}&b={}".format(*numbers)
        found.append(ArtifactFate(word, name, ref.title or ref.id, link))
    return found


def _number(kept: Sequence[ArtifactVersion], ref: ArtifactRef | None) -> int:
    """Return the number of an artifact's version; 0 where there is none."""
    if ref is None:
        return 0
    return next((version.number for version in reversed(kept) if version.ref == ref), 0)
