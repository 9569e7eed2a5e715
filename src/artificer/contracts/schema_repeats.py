"""How often finding the problems of a value applies a schema to parts of it.

A recursive schema that applies itself twice to each member does so exponentially often.
"""

from __future__ import annotations

from collections.abc import Iterator

from artificer.contracts.schema_cost import REFERENCES, SchemaReferences
from artificer.values.base import JsonObject, JsonValue

LEAST = 20_000
"""Applications that are always allowed."""

PER_PART = 1_000
"""Applications that are allowed for each part of a value; at most one for each subschema."""


def takes_too_long(schema: JsonObject, references: SchemaReferences, value: JsonValue) -> bool:
    """Return whether finding all problems of a value is out of proportion to its size."""
    if not references.are_there:
        return False
    limit = LEAST + min(references.subschemas, PER_PART) * _parts(value)
    try:
        return _Applications(references, limit).count(schema, value) > limit
    except RecursionError:
        return True


def _parts(value: JsonValue) -> int:
    count, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return count


class _Applications:
    """Counts applications, each once however often it is repeated."""

    def __init__(self, references: SchemaReferences, limit: int) -> None:
        self._references = references
        self._limit = limit
        self._sums: dict[tuple[int, int], int] = {}

    def count(self, node: JsonValue, value: JsonValue) -> int:
        """Return how often schemas are applied below here, at most one more than the limit."""
        if not isinstance(node, dict):
            return 1
        key = id(node), id(value)
        if key not in self._sums:
            self._sums[key] = 1  # while it is open: a reference to it leads back
            below = sum(count for word in node for count in self._below(word, node[word], value))
            self._sums[key] = min(1 + below, self._limit + 1)
        return self._sums[key]

    def _below(self, word: str, inner: JsonValue, value: JsonValue) -> Iterator[int]:
        """Yield the counts of what a keyword applies. ``not``, ``if`` and ``contains`` only ask
        whether a value is valid, which is known of each part once."""
        if word in REFERENCES and isinstance(inner, str):
            yield max((self.count(to, value) for to in self._references.named(inner)), default=0)
        elif word in ("allOf", "anyOf", "oneOf") and isinstance(inner, list):
            yield from (self.count(one, value) for one in inner)
        elif word in ("then", "else"):
            yield self.count(inner, value)
        elif isinstance(value, dict):
            yield from self._of_members(word, inner, value)
        elif isinstance(value, list):
            yield from self._of_items(word, inner, value)

    def _of_members(self, word: str, inner: JsonValue, value: JsonObject) -> Iterator[int]:
        if word in ("additionalProperties", "unevaluatedProperties"):
            yield from (self.count(inner, member) for member in value.values())
        elif isinstance(inner, dict) and word == "properties":
            yield from (self.count(inner[name], value[name]) for name in inner if name in value)
        elif isinstance(inner, dict) and word == "dependentSchemas":
            yield from (self.count(inner[name], value) for name in inner if name in value)
        elif isinstance(inner, dict) and word == "patternProperties":
            yield from (self.count(one, v) for one in inner.values() for v in value.values())

    def _of_items(self, word: str, inner: JsonValue, value: list[JsonValue]) -> Iterator[int]:
        if word in ("items", "unevaluatedItems"):
            yield from (self.count(inner, item) for item in value)
        elif isinstance(inner, list) and word == "prefixItems":
            yield from (self.count(one, item) for one, item in zip(inner, value, strict=False))
