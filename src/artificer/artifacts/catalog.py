"""The catalog of artifact tools: their names, the checks beyond their schemas, and their payloads.

The gate uses it. The artifacts of builds are in ``build_catalog.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from artificer.artifacts import build_catalog, withdraw
from artificer.artifacts.fields import controls, text
from artificer.artifacts.names import is_device
from artificer.artifacts.placeholder import placeholder
from artificer.artifacts.ref import ArtifactKind, ArtifactRef, MadeKind
from artificer.artifacts.tool_names import kind_of, payload_of, within
from artificer.plugins import load as imported
from artificer.values.base import JsonObject, Problem

if TYPE_CHECKING:
    from artificer.artifacts.any_artifact import Artifact
    from artificer.artifacts.payload import PayloadKind

KINDS: dict[ArtifactKind, str] = {
    "file": "artificer.artifacts.file:KIND",
    "chart": "artificer.artifacts.chart_kind:KIND",
    "table": "artificer.artifacts.table:KIND",
    "list": "artificer.artifacts.list:KIND",
    "checklist": "artificer.artifacts.checklist:KIND",
    "svg": "artificer.artifacts.svg.kind:KIND",
    "value": "artificer.artifacts.value:KIND",
}
"""The module of each kind, imported when a run first makes such an artifact."""


def kind_named(kind: ArtifactKind) -> PayloadKind[Any]:
    """Return what the catalog knows of a kind."""
    found: PayloadKind[Any] = imported(KINDS[kind])
    return found


def check(tool: str, arguments: JsonObject, made: tuple[ArtifactRef, ...]) -> tuple[Problem, ...]:
    """Return every problem of the call that the tool's input schema does not report.

    ``arguments`` need not satisfy the schema; values of the wrong type are skipped. ``made`` are
    the artifacts that the run has accepted so far.
    """
    if build_catalog.is_build_tool(tool):
        return build_catalog.check(tool, arguments)
    if tool == withdraw.NAME:
        return withdraw.problems(arguments, made)
    payload = payload_of(tool, arguments)
    if payload is None:
        return ()
    return (
        *_identity_problems(tool, arguments, payload, made),
        *kind_named(kind_of(tool)).problems(tool, payload, made),
        *controls(arguments, free="content"),
    )


def identity(tool: str, arguments: JsonObject) -> tuple[MadeKind, str, str]:
    """Return kind, id and title of the artifact that accepted arguments make.

    A file's id is its name.
    """
    if build_catalog.is_build_tool(tool):
        return build_catalog.identity(tool, arguments)
    payload = payload_of(tool, arguments) or {}
    name = payload.get(_id_member(tool))
    return kind_of(tool), str(name), str(payload.get("title", ""))


def load(tool: str, arguments: JsonObject) -> Artifact:
    """Return accepted arguments as a typed payload. A drawing is returned rebuilt.

    Raises:
        InvariantError: a drawing has problems.
        InvalidValueError: the input schema does not accept the arguments.
    """
    whole = payload_of(tool, arguments) or {}
    payload = {name: v for name, v in whole.items() if name not in ("replace", "data")}
    artifact: Artifact = kind_named(kind_of(tool)).load(tool, payload)
    return artifact


def binding_of(tool: str, arguments: JsonObject) -> JsonObject | None:
    """Return the binding of stored arguments, or None where a model typed them."""
    data = (payload_of(tool, arguments) or {}).get("data")
    return data if isinstance(data, dict) else None


def describe(tool: str, artifact: Artifact) -> str:
    """Return the result for the model: kind, id and size of the artifact, and how to cite it."""
    kind = kind_of(tool)
    name, size = getattr(artifact, _id_member(tool)), kind_named(kind).size(artifact)
    return f'{tool}: {kind} "{name}" ({size}). Cite it as {placeholder(kind, name)}.'


def _id_member(tool: str) -> str:
    return "name" if tool == "create_file" else "id"


def _identity_problems(
    tool: str, arguments: JsonObject, payload: JsonObject, made: tuple[ArtifactRef, ...]
) -> Iterator[Problem]:
    kind = kind_of(tool)
    same_kind = [ref for ref in made if ref.kind == kind]
    name = text(payload, _id_member(tool))
    known = [ref for ref in same_kind if name is not None and ref.id.lower() == name.lower()]
    member = within(tool)
    prefix = f"/{member}" if member else ""
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
    elif not known and len(same_kind) >= kind_named(kind).limit:
        yield Problem(
            pointer="",
            message=f"this run has all the {kind}s it may have; replace: true still works",
            limit=kind_named(kind).limit,
            actual=len(same_kind) + 1,
        )
