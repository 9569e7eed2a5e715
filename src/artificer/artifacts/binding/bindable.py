"""The tools whose artifacts can be bound: those that take ``data`` from the results of others."""

from __future__ import annotations

from artificer.artifacts.tool_names import is_artifact_tool, within
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, JsonValue

CITING = "create_value"
"""The tool whose artifact is a single value."""

_UNBOUND = frozenset({"create_file", "create_svg"})
"""The tools whose artifacts have no rows and no value."""


def is_bindable(name: str) -> bool:
    """Return whether an artifact of this tool can be bound."""
    return is_artifact_tool(name) and name not in _UNBOUND


def takes_data(tool: ToolDefinition) -> bool:
    """Return whether the tool takes ``data``, by its schema."""
    return is_bindable(tool.name) and "data" in members_of(payload_schema(tool))


def payload_schema(tool: ToolDefinition) -> JsonObject:
    """Return the schema of a tool's payload within that of its arguments."""
    member = within(tool.name)
    found = members_of(tool.input_schema).get(member) if member else tool.input_schema
    return found if isinstance(found, dict) else {}


def members_of(schema: JsonValue) -> JsonObject:
    """Return the schemas of an object's members."""
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}
