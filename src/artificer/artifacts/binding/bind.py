"""Binding a call: its arguments with what their ``data`` gives.

A tool takes ``data`` where its recorded schema says so; a run that began without it never does.
"""

from __future__ import annotations

from typing import NamedTuple

from artificer.artifacts.binding.bindable import CITING, takes_data
from artificer.artifacts.binding.fill import FILLS
from artificer.artifacts.binding.form import CitedData, Data, tidied
from artificer.artifacts.binding.resolve import resolve
from artificer.artifacts.binding.resolved import BindingProblems
from artificer.artifacts.binding.single import resolve_value
from artificer.artifacts.binding.sources import Sources
from artificer.artifacts.tool_names import payload_of, within
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Problem


class BoundCall(NamedTuple):
    """A call whose binding was resolved: its arguments with what the binding gives.

    ``plain`` are the arguments as the tool would take them without ``data``, for its schema and
    its rules. ``members`` are the pointers of what the binding fills in.
    """

    arguments: JsonObject
    plain: JsonObject
    members: tuple[str, ...]
    at: str


def gives_data(tool: ToolDefinition, arguments: JsonObject) -> bool:
    """Return whether a call of a tool that takes ``data`` gives some."""
    return takes_data(tool) and (tool.name == CITING or "data" in inner(tool.name, arguments))


def tidy(tool: ToolDefinition, arguments: JsonObject) -> JsonObject:
    """Return the arguments with their ``data`` in its one form."""
    if not gives_data(tool, arguments):
        return arguments
    payload = inner(tool.name, arguments)
    if "data" not in payload:
        return arguments
    return _with(tool.name, arguments, {**payload, "data": tidied(payload["data"])})


def bind(
    tool: ToolDefinition, arguments: JsonObject, sources: Sources
) -> BoundCall | tuple[Problem, ...]:
    """Resolve the binding of a call whose arguments fit its schema; or return its problems."""
    payload = inner(tool.name, arguments)
    member = within(tool.name)
    prefix = f"/{member}" if member else ""
    data = payload["data"]
    if tool.name == CITING:
        form = payload.get("format")
        shape = form if isinstance(form, dict) else {}
        found = resolve_value(CitedData.from_json(data), shape, sources, "/data")
        members: tuple[str, ...] = ("value", "shown")
    else:
        members = FILLS[tool.name].members
        both = [name for name in members if name in payload]
        if both:
            message = "is filled in by data: give one of them"
            return tuple(Problem(pointer=f"{prefix}/{name}", message=message) for name in both)
        found = resolve(tool.name, Data.from_json(data), sources, f"{prefix}/data")
    if isinstance(found, BindingProblems):
        return found.found
    filled, recorded = found.members, found.recorded
    plain = {name: member for name, member in payload.items() if name != "data"}
    written = data if isinstance(data, dict) else {}
    whole: JsonObject = {**payload, **filled, "data": {**written, **recorded}}
    return BoundCall(
        _with(tool.name, arguments, whole),
        _with(tool.name, arguments, {**plain, **filled}),
        tuple(f"{prefix}/{name}" for name in members),
        f"{prefix}/data",
    )


def pointed(problem: Problem, bound: BoundCall) -> Problem:
    """Return a problem of the resolved payload as one of the binding that gave it."""
    if not problem.pointer.startswith(bound.members):
        return problem
    message = f"gives {problem.pointer}, which {problem.message}"
    return problem.replace(pointer=bound.at, message=message)


def inner(name: str, arguments: JsonObject) -> JsonObject:
    """Return the payload within the arguments of a tool, with its binding."""
    return payload_of(name, arguments) or {}


def _with(name: str, arguments: JsonObject, payload: JsonObject) -> JsonObject:
    member = within(name)
    return {**arguments, member: payload} if member else payload
