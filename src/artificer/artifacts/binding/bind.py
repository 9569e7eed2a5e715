"""Binding a call: its schema with ``data``, and its arguments with what the data gives.

A tool takes ``data`` where its recorded schema says so; a run that began without it never does.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from artificer.artifacts.binding.fill import FILLS
from artificer.artifacts.binding.form import CitedData, Data, tidied
from artificer.artifacts.binding.resolve import resolve
from artificer.artifacts.binding.resolved import BindingProblems
from artificer.artifacts.binding.single import resolve_value
from artificer.artifacts.binding.sources import Sources
from artificer.artifacts.json_schema import schema_of
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, JsonValue, Problem

CITING = "create_value"
"""The tool whose artifact is a single value."""

_OFFER = " Give data instead of {}: it takes them from a result, and no number is typed."


class BoundCall(NamedTuple):
    """A call whose binding was resolved: its arguments with what the binding gives.

    ``plain`` are the arguments as the tool would take them without ``data``, for its schema and
    its rules. ``members`` are the pointers of what the binding fills in.
    """

    arguments: JsonObject
    plain: JsonObject
    members: tuple[str, ...]
    at: str


def is_bindable(name: str) -> bool:
    """Return whether an artifact of this tool can be bound."""
    return name in FILLS or name == CITING


def takes_data(tool: ToolDefinition) -> bool:
    """Return whether the tool takes ``data``, by its schema."""
    return is_bindable(tool.name) and "data" in _properties(_payload_schema(tool))


def with_data(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool with ``data`` in its schema, next to what it replaces."""
    fill = FILLS.get(tool.name)
    if fill is None:
        return tool
    schema = _payload_schema(tool)
    required = [name for name in _required(schema) if name not in fill.members]
    changed: JsonObject = {
        **schema,
        "properties": {**_properties(schema), "data": data_schema()},
        "required": required,
    }
    offer = _OFFER.format(" and ".join(fill.members))
    described = tool.replace(description=tool.description + offer)
    return described.replace(input_schema=_with_payload(tool, changed))


@cache
def data_schema() -> JsonObject:
    """Return the schema of ``data``. It is offered by nine tools, so it describes only its own
    members; the prompt of a run explains the rest once.
    """
    schema = schema_of(Data)
    members = {name: _brief(member) for name, member in schema["properties"].items()}
    return {**schema, "properties": members, "description": _WHAT}


_WHAT = "Rows and numbers of an earlier result, instead of typed ones. Applied in the order below."


def _brief(schema: JsonObject) -> JsonObject:
    """Return a schema whose members have no descriptions."""
    words = {"description": schema["description"]} if "description" in schema else {}
    return {**_undescribed(schema), **words}


def _undescribed(schema: JsonValue) -> Any:
    if isinstance(schema, dict):
        kept = schema.items()
        return {n: _undescribed(m) for n, m in kept if n != "description" or isinstance(m, dict)}
    return [_undescribed(item) for item in schema] if isinstance(schema, list) else schema


def plain_schema(tool: ToolDefinition) -> JsonObject:
    """Return the schema of a call without ``data``: what it replaces is required.

    A value has no other form: of its resolved arguments, nothing is left to check.
    """
    fill = FILLS.get(tool.name)
    if fill is None:
        return {"type": "object"}
    schema = _payload_schema(tool)
    members = {name: member for name, member in _properties(schema).items() if name != "data"}
    required = [*_required(schema), *fill.members]
    return _with_payload(tool, {**schema, "properties": members, "required": required})


def gives_data(tool: ToolDefinition, arguments: JsonObject) -> bool:
    """Return whether a call of a tool that takes ``data`` gives some."""
    return takes_data(tool) and (tool.name == CITING or "data" in _payload(tool.name, arguments))


def tidy(tool: ToolDefinition, arguments: JsonObject) -> JsonObject:
    """Return the arguments with their ``data`` in its one form."""
    if not gives_data(tool, arguments):
        return arguments
    payload = _payload(tool.name, arguments)
    if "data" not in payload:
        return arguments
    return _with(tool.name, arguments, {**payload, "data": tidied(payload["data"])})


def bind(
    tool: ToolDefinition, arguments: JsonObject, sources: Sources
) -> BoundCall | tuple[Problem, ...]:
    """Resolve the binding of a call whose arguments fit its schema; or return its problems."""
    payload = _payload(tool.name, arguments)
    within = _within(tool.name)
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
            return tuple(Problem(pointer=f"{within}/{name}", message=message) for name in both)
        found = resolve(tool.name, Data.from_json(data), sources, f"{within}/data")
    if isinstance(found, BindingProblems):
        return found.found
    filled, recorded = found.members, found.recorded
    plain = {name: member for name, member in payload.items() if name != "data"}
    written = data if isinstance(data, dict) else {}
    whole: JsonObject = {**payload, **filled, "data": {**written, **recorded}}
    return BoundCall(
        _with(tool.name, arguments, whole),
        _with(tool.name, arguments, {**plain, **filled}),
        tuple(f"{within}/{name}" for name in members),
        f"{within}/data",
    )


def pointed(problem: Problem, bound: BoundCall) -> Problem:
    """Return a problem of the resolved payload as one of the binding that gave it."""
    if not problem.pointer.startswith(bound.members):
        return problem
    message = f"gives {problem.pointer}, which {problem.message}"
    return problem.replace(pointer=bound.at, message=message)


def inner(name: str, arguments: JsonObject) -> JsonObject:
    """Return the payload within the stored arguments of a tool, with its binding."""
    return _payload(name, arguments)


def _within(name: str) -> str:
    fill = FILLS.get(name)
    return f"/{fill.within}" if fill and fill.within else ""


def _payload(name: str, arguments: JsonObject) -> JsonObject:
    fill = FILLS.get(name)
    payload = arguments.get(fill.within) if fill and fill.within else arguments
    return payload if isinstance(payload, dict) else {}


def _with(name: str, arguments: JsonObject, payload: JsonObject) -> JsonObject:
    within = _within(name)[1:]
    return {**arguments, within: payload} if within else payload


def _payload_schema(tool: ToolDefinition) -> JsonObject:
    within = _within(tool.name)[1:]
    found = _properties(tool.input_schema).get(within) if within else tool.input_schema
    return found if isinstance(found, dict) else {}


def _with_payload(tool: ToolDefinition, schema: JsonObject) -> JsonObject:
    within = _within(tool.name)[1:]
    if not within:
        return schema
    outer = tool.input_schema
    return {**outer, "properties": {**_properties(outer), within: schema}}


def _properties(schema: JsonValue) -> JsonObject:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _required(schema: JsonObject) -> list[JsonValue]:
    found = schema.get("required")
    return found if isinstance(found, list) else []
