"""Reading back what strict modes add: the nulls that stand for optional members left out."""

from __future__ import annotations

from artificer.contracts.strict_shape import accepts_null, is_nested, required_of
from artificer.values.base import JsonObject, JsonValue


def without_nulls(value: JsonValue, schema: JsonValue) -> JsonValue:
    """Return the value without added nulls. ``schema`` is the original, references written out."""
    if not isinstance(schema, dict):
        return value
    branches = schema.get("anyOf")
    if isinstance(branches, list) and isinstance(value, (dict, list)):
        nested = [b for b in branches if isinstance(b, dict) and is_nested(b)]
        return without_nulls(value, nested[0]) if nested else value
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items")) for item in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    required = required_of(schema)
    kept: JsonObject = {}
    for name, member in value.items():
        child = properties.get(name)
        optional = name not in required and isinstance(child, dict) and not accepts_null(child)
        if member is not None or not optional:
            kept[name] = without_nulls(member, child)
    return kept
