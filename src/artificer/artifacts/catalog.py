"""The catalog of artifact tools: their names, the checks beyond their schemas, and their payloads.

The gate uses it. The artifacts of builds are in ``build_catalog.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from artificer.artifacts import build_catalog, chart, checklist, file, table, withdraw
from artificer.artifacts import list as item_list
from artificer.artifacts.chart import Chart
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.fields import controls, text
from artificer.artifacts.file import File
from artificer.artifacts.list import ItemList
from artificer.artifacts.names import is_device
from artificer.artifacts.placeholder import placeholder
from artificer.artifacts.ref import ArtifactKind, ArtifactRef, MadeKind
from artificer.artifacts.svg import payload as svg
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.strict_nulls import without_nulls
from artificer.values.base import JsonObject, Problem

Artifact = Chart | Table | ItemList | Checklist | Svg | File

TOOLS: tuple[ToolDefinition, ...] = (
    file.CREATE_FILE,
    *chart.CHART_TOOLS,
    table.CREATE_TABLE,
    item_list.CREATE_LIST,
    checklist.CREATE_CHECKLIST,
    svg.CREATE_SVG,
)
"""The eleven ``create_*`` tools."""

REPORT_TOOLS: tuple[ToolDefinition, ...] = (*TOOLS, withdraw.WITHDRAW_ARTIFACT)
"""The tools of a run that makes a report."""

LIMITS: dict[ArtifactKind, int] = {
    "chart": chart.MAX_CHARTS,
    "table": table.MAX_TABLES,
    "list": item_list.MAX_LISTS,
    "checklist": checklist.MAX_CHECKLISTS,
    "svg": svg.MAX_SVGS,
    "file": file.MAX_FILES,
}
"""Artifacts of one kind that a run may make."""

_WRAPPED: dict[str, ArtifactKind] = {
    "create_table": "table",
    "create_list": "list",
    "create_checklist": "checklist",
    "create_svg": "svg",
}
_NAMES = frozenset(tool.name for tool in TOOLS)


def is_artifact_tool(name: str) -> bool:
    """Return whether ``name`` is one of TOOLS."""
    return name in _NAMES


def kind_of(tool: str) -> ArtifactKind:
    """Return the kind of artifact that the tool makes."""
    return "file" if tool == "create_file" else _WRAPPED.get(tool, "chart")


def normalised(tool: ToolDefinition, arguments: JsonObject) -> JsonObject:
    """Return the arguments in the form that is checked, run and stored.

    A null for an optional member counts as absent, as in the providers' strict modes. A drawing
    may name its kind, as tables, lists and checklists must.
    """
    pruned = without_nulls(arguments, tool.input_schema)
    arguments = pruned if isinstance(pruned, dict) else arguments
    drawing = arguments.get("svg") if tool.name == svg.CREATE_SVG.name else None
    if isinstance(drawing, dict) and drawing.get("kind") == "svg":
        plain = {name: member for name, member in drawing.items() if name != "kind"}
        return {**arguments, "svg": plain}
    return arguments


def check(tool: str, arguments: JsonObject, made: tuple[ArtifactRef, ...]) -> tuple[Problem, ...]:
    """Return every problem of the call that the tool's input schema does not report.

    ``arguments`` need not satisfy the schema; values of the wrong type are skipped. ``made`` are
    the artifacts that the run has accepted so far.
    """
    if build_catalog.is_build_tool(tool):
        return build_catalog.check(tool, arguments)
    if tool == withdraw.NAME:
        return withdraw.problems(arguments, made)
    payload = _payload(tool, arguments)
    if payload is None:
        return ()
    return (
        *_identity_problems(tool, arguments, payload, made),
        *_payload_problems(tool, payload, made),
        *controls(arguments, free="content"),
    )


def identity(tool: str, arguments: JsonObject) -> tuple[MadeKind, str, str]:
    """Return kind, id and title of the artifact that accepted arguments make.

    A file's id is its name.
    """
    if build_catalog.is_build_tool(tool):
        return build_catalog.identity(tool, arguments)
    payload = _payload(tool, arguments) or {}
    name = payload.get(_id_member(tool))
    return kind_of(tool), str(name), str(payload.get("title", ""))


def load(tool: str, arguments: JsonObject) -> Artifact:
    """Return accepted arguments as a typed payload. A drawing is returned rebuilt.

    Raises:
        InvariantError: a drawing has problems.
        InvalidValueError: the input schema does not accept the arguments.
    """
    payload = {k: v for k, v in (_payload(tool, arguments) or {}).items() if k != "replace"}
    match kind_of(tool):
        case "chart":
            return chart.MODELS[tool].from_json(payload)
        case "table":
            return Table.from_json(payload)
        case "list":
            return ItemList.from_json(payload)
        case "checklist":
            return Checklist.from_json(payload)
        case "svg":
            return svg.load(payload)
        case "file":
            return File.from_json(payload)


def describe(tool: str, artifact: Artifact) -> str:
    """Return the result for the model: kind, id and size of the artifact, and how to cite it."""
    name = artifact.name if isinstance(artifact, File) else artifact.id
    kind = kind_of(tool)
    return f'{tool}: {kind} "{name}" ({_size(artifact)}). Cite it as {placeholder(kind, name)}.'


def _payload(tool: str, arguments: JsonObject) -> JsonObject | None:
    if tool not in _WRAPPED:
        return arguments
    payload = arguments.get(_WRAPPED[tool])
    return payload if isinstance(payload, dict) else None


def _id_member(tool: str) -> str:
    return "name" if tool == "create_file" else "id"


def _payload_problems(
    tool: str, payload: JsonObject, made: tuple[ArtifactRef, ...]
) -> Iterator[Problem]:
    match kind_of(tool):
        case "chart":
            yield from chart.problems(tool, payload)
        case "table":
            yield from table.problems(payload)
        case "list":
            yield from item_list.problems(payload)
        case "checklist":
            yield from checklist.problems(payload)
        case "svg":
            yield from svg.problems(payload)
        case "file":
            yield from file.problems(payload, made)


def _identity_problems(
    tool: str, arguments: JsonObject, payload: JsonObject, made: tuple[ArtifactRef, ...]
) -> Iterator[Problem]:
    kind = kind_of(tool)
    same_kind = [ref for ref in made if ref.kind == kind]
    name = text(payload, _id_member(tool))
    known = [ref for ref in same_kind if name is not None and ref.id.lower() == name.lower()]
    prefix = f"/{_WRAPPED[tool]}" if tool in _WRAPPED else ""
    if kind != "file" and name is not None and is_device(name):
        yield Problem(
            pointer=f"{prefix}/id",
            message="is a device on Windows, where no file can have this name: choose another",
            actual=name,
        )
    if known and known[0].id != name:
        yield Problem(
            pointer=f"{prefix}/{_id_member(tool)}",
            message=f"differs only in case from the {kind} {known[0].id!r}: choose another, or use"
            " exactly that one with replace: true",
            actual=name,
        )
    elif known and arguments.get("replace") is not True:
        yield Problem(
            pointer=f"{prefix}/{_id_member(tool)}",
            message=f"a {kind} with this id exists: choose another, or set replace: true",
            actual=name,
        )
    elif not known and len(same_kind) >= LIMITS[kind]:
        yield Problem(
            pointer="",
            message=f"this run has all the {kind}s it may have; replace: true still works",
            limit=LIMITS[kind],
            actual=len(same_kind) + 1,
        )


def _size(artifact: Artifact) -> str:
    if isinstance(artifact, File):
        return _count(len(artifact.content), "character")
    if isinstance(artifact, Svg):
        return f"rebuilt, {_count(len(artifact.content), 'character')}"
    if isinstance(artifact, Table):
        return f"{_count(len(artifact.columns), 'column')}, {_count(len(artifact.rows), 'row')}"
    if isinstance(artifact, ItemList | Checklist):
        return _count(len(artifact.items), "item")
    return _chart_size(artifact)


def _chart_size(artifact: Chart) -> str:
    if isinstance(artifact, chart.PieChart):
        return _count(len(artifact.segments), "segment")
    if isinstance(artifact, chart.ScatterChart):
        points = sum(len(series.points) for series in artifact.series)
        return f"{len(artifact.series)} series, {_count(points, 'point')}"
    return f"{len(artifact.series)} series, {_count(len(artifact.labels), 'label')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
