"""The schemas of tools that take ``data``: the short one that is sent, and the one that is checked.

Many tools share ``data``, and every token of a schema is paid for in each request. So a schema
that is sent names the members of ``data`` and their kinds, the prompt of a run explains them once,
and the gate checks a call against all that :mod:`artificer.artifacts.binding.form` says.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from artificer.artifacts.binding.bindable import (
    CITING,
    is_bindable,
    members_of,
    payload_schema,
    takes_data,
)
from artificer.artifacts.binding.fill import FILLS
from artificer.artifacts.binding.form import CitedData, Data
from artificer.artifacts.json_schema import schema_of
from artificer.artifacts.tool_names import within
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, JsonValue
from artificer.values.by_identity import ByIdentity


def with_data(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool with ``data`` in its schema, next to what it replaces."""
    if not is_bindable(tool.name):
        return tool
    fill = FILLS.get(tool.name)
    replaced = fill.members if fill else ()
    schema = payload_schema(tool)
    data = _brief(data_schema(tool.name), whole=True)
    if fill:
        description = f"A result's rows, instead of {', '.join(replaced)}. {fill.hint}"
        data["description"] = description.rstrip()
    changed: JsonObject = {
        **schema,
        "properties": {**members_of(schema), "data": data},
        "required": [name for name in _required(schema) if name not in replaced],
    }
    return tool.replace(input_schema=_with_payload(tool, changed))


def data_schema(name: str) -> JsonObject:
    """Return the whole schema of the ``data`` that a tool takes."""
    fill = FILLS.get(name)
    return _schema(CitedData if name == CITING else Data, fill is not None and fill.grid)


@cache
def _schema(form: type[Data | CitedData], grid: bool) -> JsonObject:
    schema = schema_of(form)
    members = {n: m for n, m in members_of(schema).items() if grid or n != "across"}
    return {**schema, "properties": members}


def _brief(schema: JsonObject, *, whole: bool = False) -> dict[str, Any]:
    """Return a schema with the kinds of its members, and no more; those of ``whole`` ones too."""
    brief: dict[str, Any] = {"type": schema["type"]}
    if brief["type"] == "array":
        items = schema["items"]
        brief["items"] = {"type": items["type"]} if isinstance(items, dict) else {}
    if whole:
        members = members_of(schema)
        brief["properties"] = {n: _brief(m) for n, m in members.items() if isinstance(m, dict)}
        brief |= {"required": _required(schema), "additionalProperties": False}
    return brief


def checked_schema(tool: ToolDefinition) -> JsonObject:
    """Return the schema that the gate holds a call to, with all rules of ``data``.

    Members of ``data`` that the recorded schema does not name are none.
    """
    return _checked(tool) if takes_data(tool) else tool.input_schema


def _make_checked(tool: ToolDefinition) -> JsonObject:
    schema = payload_schema(tool)
    whole = data_schema(tool.name)
    named = members_of(members_of(schema)["data"])
    members = {name: m for name, m in members_of(whole).items() if name in named}
    data: JsonObject = {**whole, "properties": members}
    return _with_payload(tool, {**schema, "properties": {**members_of(schema), "data": data}})


def _make_plain(tool: ToolDefinition) -> JsonObject:
    fill = FILLS.get(tool.name)
    if fill is None:
        return {"type": "object"}
    schema = payload_schema(tool)
    members = {name: member for name, member in members_of(schema).items() if name != "data"}
    required = [*_required(schema), *fill.members]
    return _with_payload(tool, {**schema, "properties": members, "required": required})


_checked, _plain = ByIdentity(_make_checked, 64), ByIdentity(_make_plain, 64)


def plain_schema(tool: ToolDefinition) -> JsonObject:
    """Return the schema of a call without ``data``: what it replaces is required.

    A value has no other form: of its resolved arguments, nothing is left to check.
    """
    return _plain(tool)


def pointer(name: str) -> str:
    """Return the pointer of ``data`` in the arguments of a tool."""
    member = within(name)
    return f"/{member}/data" if member else "/data"


def _with_payload(tool: ToolDefinition, schema: JsonObject) -> JsonObject:
    member = within(tool.name)
    if not member:
        return schema
    outer = tool.input_schema
    return {**outer, "properties": {**members_of(outer), member: schema}}


def _required(schema: JsonObject) -> list[JsonValue]:
    found = schema.get("required")
    return found if isinstance(found, list) else []
