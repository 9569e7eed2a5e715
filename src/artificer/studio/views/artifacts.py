"""The artifacts of a run: each with its versions, what changed between two, and its files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from artificer.artifacts.ref import ArtifactRef
from artificer.errors import NotFoundError
from artificer.render.export.forms import ARTIFACT_FORMS
from artificer.runs import History
from artificer.studio.artifact_changes import artifact_change, typed
from artificer.studio.context import history_of
from artificer.studio.downloads import artifact_forms, artifact_path, report_forms
from artificer.studio.pages import page
from artificer.studio.previews import attached_files
from artificer.studio.shown import ShownArtifact, drawn, is_chosen, shown
from artificer.studio.versions import (
    ArtifactVersion,
    chosen_version,
    newest_version,
    read_version,
    versions,
)
from artificer.studio.views import files


class ListedArtifact(NamedTuple):
    """An artifact in a list. ``ref`` is its newest version, ``held`` how many there are."""

    path: str
    ref: ArtifactRef
    versions: Sequence[ArtifactVersion]
    held: int
    forms: tuple[str, ...]
    withdrawn: bool


async def overview(request: Request) -> Response:
    """List the report, the artifacts and the files of a run, with their versions and forms."""
    history = await history_of(request)
    run, found = history.run, versions(history.lines, history.data)
    values = {
        "run": run,
        "reports": found.reports,
        "report_forms": report_forms(run),
        "artifacts": [_listed(run.id, kept) for kept in found.artifacts.values()],
        "files": attached_files(run),
    }
    return page(request, "artifacts", values)


def _listed(run: str, kept: Sequence[ArtifactVersion]) -> ListedArtifact:
    ref, is_gone = newest_version(kept).ref, kept[-1].ref is None
    assert ref is not None
    forms = () if is_gone else artifact_forms(ref.kind, ref.tool)
    held = sum(version.ref is not None for version in kept)
    path = artifact_path(run, f"{ref.kind}:{ref.id}")
    return ListedArtifact(path, ref, kept, held, forms, is_gone)


async def show(request: Request) -> Response:
    """Show an artifact, compare two of its versions, or send it as a file."""
    path = request.path_params["artifact"]
    name, _, last = path.rpartition("/")
    if last in ARTIFACT_FORMS:
        return await files.artifact(request, name, last)
    history = await history_of(request)
    wanted = name if last == "changes" else path
    kept = versions(history.lines, history.data).of(wanted)
    if not kept:
        raise NotFoundError(
            "The run has made no such artifact.",
            hint=f"/runs/{history.run.id}/artifacts lists its artifacts.",
        )
    if last == "changes":
        return await _changes(request, history, wanted, kept)
    return await _page(request, history, wanted, kept)


async def _page(
    request: Request, history: History, name: str, kept: Sequence[ArtifactVersion]
) -> Response:
    version = chosen_version(kept, request.query_params.get("version", ""))
    made = read_version(history, version)
    is_newest = version is newest_version(kept)
    is_current = is_newest and kept[-1].ref is not None
    stays = {} if is_newest else {"version": str(version.number)}
    parts = await asyncio.to_thread(shown, made, request.query_params, stays)
    values = {
        "run": history.run,
        "name": name,
        "path": artifact_path(history.run.id, name),
        "artifact": made,
        "version": version,
        "versions": kept,
        "stays": stays,
        "shown": parts,
        "is_newest": is_newest,
        "query": "" if is_current else f"?version={version.number}",
        "is_open": bool(parts.grid and is_chosen(parts.grid.choice)),
        "forms": artifact_forms(made.kind, made.tool),
    }
    return page(request, "artifact_page", values)


async def _changes(
    request: Request, history: History, name: str, kept: Sequence[ArtifactVersion]
) -> Response:
    one, other = pair(kept, request.query_params)
    before, after = read_version(history, one), read_version(history, other)
    change = await asyncio.to_thread(artifact_change, before, after)
    drawings: list[tuple[ArtifactVersion, ShownArtifact]] = []
    if change.drawings:
        for side, version, made in (("a-", one, before), ("b-", other, after)):
            drawings.append((version, await asyncio.to_thread(drawn, typed(made), side)))
    values = {
        "run": history.run,
        "name": name,
        "path": artifact_path(history.run.id, name),
        "artifact": after,
        "versions": [version for version in kept if version.ref],
        "one": one,
        "other": other,
        "change": change,
        "drawings": drawings,
    }
    return page(request, "artifact_changes", values)


def pair(
    kept: Sequence[ArtifactVersion], query: Mapping[str, str]
) -> tuple[ArtifactVersion, ArtifactVersion]:
    """Return the versions ``a`` and ``b``; without them the newest and the one before."""
    held = [version for version in kept if version.ref]
    other = chosen_version(kept, query.get("b", ""))
    earlier = [version for version in held if version.number < other.number]
    one = chosen_version(kept, query["a"]) if query.get("a") else (earlier or [other])[-1]
    return one, other
