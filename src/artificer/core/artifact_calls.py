"""The part of the gate for calls that make artifacts: their ``data``, and the rules of their kinds.

Loaded at the first such call of a process.
"""

from __future__ import annotations

import json

from artificer.artifacts import catalog, withdraw
from artificer.artifacts.binding import bind, bindable, offer
from artificer.artifacts.binding.sources import Sources
from artificer.artifacts.ref import ArtifactRef, with_artifact
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.schema import compile_schema
from artificer.contracts.strict_nulls import without_nulls
from artificer.values.base import JsonObject, Problem
from artificer.values.canon import digest_of


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


def checked(
    tool: ToolDefinition,
    arguments: JsonObject,
    made: tuple[ArtifactRef, ...],
    sources: Sources,
    *,
    formats: bool,
) -> tuple[JsonObject, tuple[Problem, ...]]:
    """Return the arguments as they run, with what a binding gives, and their problems.

    ``made`` are the artifacts that the run has accepted so far.
    """
    arguments = normalised(tool, arguments)
    takes, gives = bindable.takes_data(tool), bind.gives_data(tool, arguments)
    schema = offer.checked_schema(tool) if gives or not takes else offer.plain_schema(tool)
    problems = compile_schema(schema, formats=formats).problems(arguments)
    if not gives:
        return arguments, problems + catalog.check(tool.name, arguments, made)
    bound = problems or bind.bind(tool, arguments, sources)
    if not isinstance(bound, bind.BoundCall):
        return arguments, bound + catalog.check(tool.name, arguments, made)
    plain = compile_schema(offer.plain_schema(tool), formats=formats).problems(bound.plain)
    resulting = plain + catalog.check(tool.name, bound.plain, made)
    return bound.arguments, tuple(bind.pointed(problem, bound) for problem in resulting)


def with_pending(
    made: tuple[ArtifactRef, ...], tool: ToolDefinition, arguments: str
) -> tuple[ArtifactRef, ...]:
    """Count what an approved call of this turn is about to make or to withdraw."""
    if tool.name == withdraw.NAME:
        return withdraw.without(made, withdraw.withdrawal(json.loads(arguments)))
    kind, artifact_id, title = catalog.identity(tool.name, json.loads(arguments))
    payload = digest_of(arguments.encode())
    ref = ArtifactRef(kind=kind, id=artifact_id, tool=tool.name, title=title, payload=payload)
    return with_artifact(made, ref)
