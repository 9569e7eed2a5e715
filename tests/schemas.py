"""JSON Schemas of tests."""

from __future__ import annotations

from artificer.values.base import JsonObject


def required_object(**properties: JsonObject) -> JsonObject:
    """Return the schema of an object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
