"""The catalog of artifact tools: their names, the checks beyond their schemas, and their payloads.

The gate uses it. The artifacts of builds are in ``build_catalog.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from artificer.artifacts import build_catalog, withdraw
from artificer.artifacts.binding import bind, offer
from artificer.artifacts.binding.source_note import Phrases, source_note
from artificer.artifacts.fields import controls, text
from artificer.artifacts.names import is_device
from artificer.artifacts.placeholder import placeholder
from artificer.artifacts.ref import ArtifactKind, ArtifactRef, MadeKind
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.strict_nulls import without_nulls
from artificer.plugins import load as imported
from artificer.values.base import JsonObject, Problem

if TYPE_CHECKING:
    from artificer.artifacts.any_artifact import Artifact
    from artificer.artifacts.payload import PayloadKind

_KINDS: dict[ArtifactKind, str] = {
    "file": "artificer.artifacts.file:KIND",
    "chart": "artificer.artifacts.chart_kind:KIND",
    "table": "artificer.artifacts.table:KIND",
    "list": "artificer.artifacts.list:KIND",
    "checklist": "artificer.artifacts.checklist:KIND",
    "svg": "artificer.artifacts.svg.kind:KIND",
    "value": "artificer.artifacts.value:KIND",
}
"""The module of each kind, imported when a run first offers its tools or makes such an artifact."""

_MAKES: dict[str, ArtifactKind] = {
    "create_file": "file",
    "create_pie_chart": "chart",
    "create_bar_chart": "chart",
    "create_line_chart": "chart",
    "create_area_chart": "chart",
    "create_scatter_chart": "chart",
    "create_stacked_bar_chart": "chart",
    "create_histogram_chart": "chart",
    "create_heat_map_chart": "chart",
    "create_box_plot_chart": "chart",
    "create_combined_chart": "chart",
    "create_table": "table",
    "create_list": "list",
    "create_checklist": "checklist",
    "create_svg": "svg",
    "create_value": "value",
}
"""The kind that each tool makes."""

_WRAPPED = frozenset({"create_table", "create_list", "create_checklist", "create_svg"})
"""The tools whose payload is one member of their arguments, named as the kind."""


@cache
def tools() -> tuple[ToolDefinition, ...]:
    """Return the ``create_*`` tools whose arguments hold all they make: the seed's eleven, and
    four more charts.
    """
    return tuple(tool for kind in _KINDS if kind != "value" for tool in _kind(kind).tools)


@cache
def report_tools(*, binding: bool = False) -> tuple[ToolDefinition, ...]:
    """Return the tools of a run that makes a report.

    With ``binding``, artifacts may take ``data`` from the results of other tools.
    """
    if not binding:
        return (*tools(), withdraw.tool())
    bindable = map(offer.with_data, (*tools(), *_kind("value").tools))
    return (*bindable, withdraw.tool(values=True))


def _kind(kind: ArtifactKind) -> PayloadKind[Any]:
    found: PayloadKind[Any] = imported(_KINDS[kind])
    return found


def is_artifact_tool(name: str) -> bool:
    """Return whether ``name`` is one of :func:`tools`."""
    return name in _MAKES


def kind_of(tool: str) -> ArtifactKind:
    """Return the kind of artifact that the tool makes."""
    return _MAKES[tool]


def normalised(tool: ToolDefinition, arguments: JsonObject) -> JsonObject:
    """Return the arguments in the form that is checked, run and stored.

    A null for an optional member counts as absent, as in the providers' strict modes. A drawing
    may name its kind, as tables, lists and checklists must.
    """
    pruned = without_nulls(arguments, offer.checked_schema(tool))
    arguments = bind.tidy(tool, pruned if isinstance(pruned, dict) else arguments)
    drawing = arguments.get("svg") if tool.name == "create_svg" else None
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
        *_kind(kind_of(tool)).problems(tool, payload, made),
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
    whole = _payload(tool, arguments) or {}
    payload = {name: v for name, v in whole.items() if name not in ("replace", "data")}
    artifact: Artifact = _kind(kind_of(tool)).load(tool, payload)
    return artifact


def source_note_of(tool: str, arguments: JsonObject, words: Phrases) -> str:
    """Return the sentence that says where the numbers of stored arguments come from."""
    return source_note(_payload(tool, arguments) or {}, words)


def binding_of(tool: str, arguments: JsonObject) -> JsonObject | None:
    """Return the binding of stored arguments, or None where a model typed them."""
    data = (_payload(tool, arguments) or {}).get("data")
    return data if isinstance(data, dict) else None


def describe(tool: str, artifact: Artifact) -> str:
    """Return the result for the model: kind, id and size of the artifact, and how to cite it."""
    kind = kind_of(tool)
    name, size = getattr(artifact, _id_member(tool)), _kind(kind).size(artifact)
    return f'{tool}: {kind} "{name}" ({size}). Cite it as {placeholder(kind, name)}.'


def _payload(tool: str, arguments: JsonObject) -> JsonObject | None:
    if tool not in _WRAPPED:
        return arguments
    payload = arguments.get(_MAKES[tool])
    return payload if isinstance(payload, dict) else None


def _id_member(tool: str) -> str:
    return "name" if tool == "create_file" else "id"


def _identity_problems(
    tool: str, arguments: JsonObject, payload: JsonObject, made: tuple[ArtifactRef, ...]
) -> Iterator[Problem]:
    kind = kind_of(tool)
    same_kind = [ref for ref in made if ref.kind == kind]
    name = text(payload, _id_member(tool))
    known = [ref for ref in same_kind if name is not None and ref.id.lower() == name.lower()]
    prefix = f"/{_MAKES[tool]}" if tool in _WRAPPED else ""
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
    elif not known and len(same_kind) >= _kind(kind).limit:
        yield Problem(
            pointer="",
            message=f"this run has all the {kind}s it may have; replace: true still works",
            limit=_kind(kind).limit,
            actual=len(same_kind) + 1,
        )
