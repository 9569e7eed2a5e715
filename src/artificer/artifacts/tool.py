"""Tool definitions derived from payload models."""

from __future__ import annotations

from artificer.artifacts.json_schema import schema_of
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Value

REPLACE: JsonObject = {
    "type": "boolean",
    "description": "true to put this in place of what you made earlier with the same id.",
}


def artifact_tool(name: str, description: str, model: type[Value]) -> ToolDefinition:
    """Return a tool whose arguments are the members of the payload."""
    return _definition(name, description, schema_of(model))


def flat_tool(name: str, description: str, model: type[Value]) -> ToolDefinition:
    """Return a tool whose arguments are the members of the payload, plus ``replace``."""
    schema = schema_of(model)
    schema["properties"] = {**schema["properties"], "replace": REPLACE}
    return _definition(name, description, schema)


def wrapped_tool(name: str, description: str, model: type[Value], member: str) -> ToolDefinition:
    """Return a tool whose arguments are the payload in one member, plus ``replace``."""
    payload = schema_of(model)
    payload["description"] = f"The {member}."
    schema: JsonObject = {
        "type": "object",
        "properties": {member: payload, "replace": REPLACE},
        "required": [member],
        "additionalProperties": False,
    }
    return _definition(name, description, schema)


def _definition(name: str, description: str, schema: JsonObject) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=description,
        input_schema=schema,
        effect="pure",
        risk="info",
        backend="artifact",
    )
