"""The origin of a report: from each figure, cell and sentence back to its records."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from artificer.artifacts.ref import ArtifactRef
from artificer.errors import ArtificerError, NotFoundError
from artificer.run_artifact import RunArtifact
from artificer.runs import Run
from artificer.studio.context import context_of, history_of
from artificer.studio.pages import page
from artificer.studio.provenance import Traces, artifact_trace, same_value, sentences, traces
from artificer.studio.views.records import number
from artificer.values.text import clip

MAX_ARTIFACTS = 100
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 100, 20, 200
"""Rows, columns and characters of a cell that are shown."""

MAX_DATA = 8
"""Results in which a cell is looked for, the newest first."""


async def show(request: Request) -> Response:
    """Show the origin of every artifact and paragraph of a report."""
    history = await history_of(request)
    run = history.run
    found = traces(history.lines, run.state.sources)
    refs, made = _refs(run), {one.digest: one for one in run.artifacts.values()}
    artifacts = [
        artifact_trace(found, ref, made[ref.payload].payload if ref.payload in made else {})
        for ref in refs[:MAX_ARTIFACTS]
    ]
    values = {
        "run": run,
        "artifacts": artifacts,
        "hidden": max(0, len(refs) - MAX_ARTIFACTS),
        "sentences": list(sentences(found, run.text)) if run.state.build is None else [],
        "sources": [call for call in found.calls.values() if call.label][:MAX_ARTIFACTS],
    }
    return page(request, "sources", values)


async def artifact(request: Request) -> Response:
    """Show one artifact with its cells; a chosen one with where its value stands."""
    history = await history_of(request)
    run, wanted = history.run, request.path_params["artifact"]
    ref = next((ref for ref in _refs(run) if f"{ref.kind}:{ref.id}" == wanted), None)
    made = next((a for a in run.artifacts.values() if ref and a.digest == ref.payload), None)
    if ref is None or made is None:
        raise NotFoundError("The report has no such artifact.")
    found = traces(history.lines, run.state.sources)
    columns = list(made.rows[0])[:MAX_COLUMNS] if made.rows else []
    values = {
        "run": run,
        "trace": artifact_trace(found, ref, made.payload),
        "columns": columns,
        "rows": [[_short(row[c]) for c in columns] for row in made.rows[:MAX_ROWS]],
        "hidden": max(0, len(made.rows) - MAX_ROWS),
        **await _chosen(request, run, found, made, columns),
    }
    return page(request, "artifact", values)


def _refs(run: Run[Any]) -> list[ArtifactRef]:
    delivered = run.deliverable
    return list(run.state.artifacts if delivered is None else delivered.artifacts)


def _short(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else clip(str(cell), MAX_CELL)


async def _chosen(
    request: Request, run: Run[Any], found: Traces, made: RunArtifact, columns: list[str]
) -> dict[str, Any]:
    row = number(request.query_params.get("row", ""))
    column = number(request.query_params.get("column", ""))
    if not (1 <= row <= len(made.rows[:MAX_ROWS]) and 1 <= column <= len(columns)):
        return {"chosen": None, "places": []}
    cell = made.rows[row - 1][columns[column - 1]]
    archive, data = context_of(request).world.archive, dict[str, bytes]()
    for source in run.state.sources[::-1]:
        if source.digest is None or len(data) == MAX_DATA:
            continue
        try:
            data[source.label] = await archive.data(run.id, source.label)
        except ArtificerError:
            continue
    chosen = {"row": row, "column": columns[column - 1], "value": _short(cell)}
    places = [] if cell is None else same_value(found, data, cell)
    return {"chosen": chosen, "places": places}
