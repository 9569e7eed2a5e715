"""A subschema's own keywords, references written out."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.values.base import JsonObject, JsonValue

_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})


class UnsupportedSchema(Exception):
    """The schema says something that the strict subset cannot."""


def accepts_null(schema: JsonObject) -> bool:
    """Whether a schema, references written out, takes null."""
    if "const" in schema:
        return schema["const"] is None
    options = schema.get("enum")
    if isinstance(options, list):
        return None in options
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        return any(isinstance(branch, dict) and accepts_null(branch) for branch in branches)
    return "null" in types_of(schema)


def types_of(node: JsonObject) -> tuple[str, ...]:
    declared = node.get("type")
    names: Sequence[JsonValue] = declared if isinstance(declared, list) else [declared]
    known = tuple(name for name in names if isinstance(name, str))
    if "object" in known and "array" in known:
        raise UnsupportedSchema
    return known


def required_of(node: JsonObject) -> tuple[str, ...]:
    required = node.get("required")
    names = required if isinstance(required, list) else []
    return tuple(name for name in names if isinstance(name, str))


def is_nested(node: JsonObject) -> bool:
    return bool({"anyOf"} & node.keys()) or not set(types_of(node)) <= _SCALARS
