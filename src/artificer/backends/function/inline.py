"""JSON Schema without references: several providers understand no ``$ref``."""

from __future__ import annotations

from typing import Any

from artificer.errors import ToolDefinitionError
from artificer.values.base import JsonObject
from artificer.values.canon import canonical

MAX_SCHEMA_BYTES = 64 * 1024
"""Largest schema, with all references replaced: it is sent with every request."""

_DATA = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose values are data, not schemas."""

_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords whose values map names to schemas."""

_DROPPED = frozenset({"$defs", "title", "discriminator"})
"""Definitions are put in place; titles repeat names; ``discriminator`` is not JSON Schema."""


def inlined(schema: JsonObject) -> JsonObject:
    """Return the schema with every reference into its ``$defs`` replaced by what it names.

    Objects take no members but those that they name, as a function takes no other parameters: a
    member that nobody reads is a mistake of the model. A type that takes others says so.

    Raises:
        ToolDefinitionError: a definition contains itself, or the result is too large.
    """
    definitions: Any = schema.get("$defs", {})
    result: JsonObject = _inline(schema, definitions, ())
    size = len(canonical(result))
    if size > MAX_SCHEMA_BYTES:
        raise ToolDefinitionError(
            f"the schema has {size} bytes without references, {MAX_SCHEMA_BYTES} are allowed"
        )
    return result


def _inline(node: Any, definitions: Any, inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in inside:
            raise ToolDefinitionError(
                f"the type {name!r} contains itself", hint="Give nested values a bounded depth."
            )
        result.update(_inline(definitions[name], definitions, (*inside, name)))
    for key, value in node.items():
        if key == "$ref" or key in _DROPPED:
            continue
        if key in _DATA:
            result[key] = value
        elif key in _MAPS:
            result[key] = {n: _inline(s, definitions, inside) for n, s in value.items()}
        else:
            result[key] = _inline(value, definitions, inside)
    if result.get("type") == "object" and "properties" in result:
        result.setdefault("additionalProperties", False)
    return result
