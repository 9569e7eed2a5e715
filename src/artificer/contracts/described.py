"""The description that a schema has of one place in a value."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from artificer.values.base import JsonObject, JsonValue
from artificer.values.pointer import steps_of

_MAX_NODES = 64
"""Subschemas that are looked through for one step: a schema may come from a server."""


def description_at(schema: JsonObject, pointer: str) -> str:
    """Return the description of the place a JSON Pointer names, or of the nearest one around it.

    Empty if the schema describes neither.
    """
    found, nodes = "", [schema]
    for name in steps_of(pointer):
        nodes = list(islice(_inside(_options(schema, nodes), name), _MAX_NODES))
        found = next(_words(_options(schema, nodes)), found)
    return found


def _inside(options: Iterable[JsonObject], name: str) -> Iterator[JsonObject]:
    """The subschemas for a member or an item of what any of these describes."""
    for option in options:
        properties, items = option.get("properties"), option.get("items")
        inner = properties.get(name) if isinstance(properties, dict) else None
        if isinstance(inner, dict):
            yield inner
        elif isinstance(items, dict) and name.isdecimal():
            yield items


def _words(options: Iterable[JsonObject]) -> Iterator[str]:
    for option in options:
        words = option.get("description")
        if isinstance(words, str) and words.strip():
            yield words.strip()


def _options(schema: JsonObject, nodes: list[JsonObject]) -> list[JsonObject]:
    """Subschemas, the definitions they refer to, and their alternatives: each once."""
    found: list[JsonObject] = []
    waiting: deque[JsonValue] = deque(nodes)
    while waiting and len(found) < _MAX_NODES:
        node = waiting.popleft()
        if not isinstance(node, dict) or any(node is other for other in found):
            continue
        found.append(node)
        waiting.append(_definition(schema, node.get("$ref")))
        for key in ("allOf", "anyOf", "oneOf"):
            inner = node.get(key)
            waiting.extend(inner if isinstance(inner, list) else ())
    return found


def _definition(schema: JsonObject, ref: JsonValue) -> JsonValue:
    definitions = schema.get("$defs")
    if not isinstance(ref, str) or not isinstance(definitions, dict):
        return None
    return definitions.get(ref.removeprefix("#/$defs/"))
