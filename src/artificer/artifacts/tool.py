"""Tool definitions derived from payload models.

The schemas are self-contained and closed against unknown members: no ``$ref``, ``$defs``,
``title`` or ``default`` from pydantic, so that every provider and grammar converter accepts them.
"""

from __future__ import annotations

from typing import Any

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


def schema_of(model: type[Value]) -> dict[str, Any]:
    """Return the model's JSON Schema with all references inlined."""
    whole = model.model_json_schema()
    inlined = _inline(whole, whole.get("$defs", {}))
    inlined.pop("description", None)
    return inlined


def _definition(name: str, description: str, schema: JsonObject) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=description,
        input_schema=schema,
        effect="pure",
        risk="info",
        backend="artifact",
    )


def _inline(node: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = defs[node["$ref"].removeprefix("#/$defs/")]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    result = {k: v for k, v in node.items() if k not in ("$defs", "title", "default")}
    if "properties" in result:
        result["properties"] = {k: _inline(v, defs) for k, v in result["properties"].items()}
    if "items" in result:
        result["items"] = _inline(result["items"], defs)
    return result
