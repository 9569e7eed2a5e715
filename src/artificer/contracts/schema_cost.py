"""The cost of a schema: how many subschemas it has once its references are followed.

Forty definitions that each refer to the next one twice fit into two kilobytes, and a validator
that follows them takes longer than anyone waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from artificer.values.base import JsonObject, JsonValue
from artificer.values.pointer import steps_of

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""Keywords whose value names another part of the schema."""

MAX_RESOURCES = 100
"""Parts of a schema with an identifier of their own, of which any reference may name a part."""

_ANCHORS = ("$anchor", "$dynamicAnchor")


def is_costlier(schema: JsonObject, limit: int) -> bool:
    """Return whether a schema has more subschemas than ``limit`` with each reference followed.

    A reference back to where it stands counts as one: how often it is followed depends on the
    value. One that may name several places counts as the largest.
    """
    references = SchemaReferences(schema)
    if references.resources > MAX_RESOURCES:  # each reference may lead into each of them
        return True
    try:
        return _Counter(references, limit).count(schema) > limit
    except RecursionError:
        return True


class _Counter:
    """Counts subschemas, each once however often it is referred to."""

    def __init__(self, references: SchemaReferences, limit: int) -> None:
        self._references = references
        self._limit = limit
        self._sums: dict[int, int] = {}

    def count(self, node: JsonValue) -> int:
        """Return the number of objects in a part of the schema, at most one more than the limit."""
        if isinstance(node, list):
            return min(sum(map(self.count, node)), self._limit + 1)
        if not isinstance(node, dict):
            return 0
        if id(node) not in self._sums:
            self._sums[id(node)] = 1  # while it is open: a reference to it leads back
            inside = sum(map(self.count, node.values()))
            followed = sum(self._followed(node.get(key)) for key in REFERENCES)
            self._sums[id(node)] = min(1 + inside + followed, self._limit + 1)
        return self._sums[id(node)]

    def _followed(self, reference: JsonValue) -> int:
        if not isinstance(reference, str):
            return 0
        return max(map(self.count, self._references.named(reference)), default=0)


class SchemaReferences:
    """The parts of a schema by the references to them."""

    def __init__(self, schema: JsonObject) -> None:
        found = list(_objects(schema))
        self.subschemas = len(found)
        self.are_there = any(key in one for one in found for key in REFERENCES)
        self._roots = [schema, *(one for one in found if "$id" in one)]
        self.resources = len(self._roots)
        self._named: dict[str, Sequence[JsonValue]] = {}
        self._anchors: dict[str, list[JsonObject]] = {}
        for one in found:
            for name in (one.get(key) for key in _ANCHORS):
                if isinstance(name, str):
                    self._anchors.setdefault(name, []).append(one)

    def named(self, reference: str) -> Sequence[JsonValue]:
        """Return what a reference may name."""
        if reference not in self._named:
            self._named[reference] = tuple(self._find(reference))
        return self._named[reference]

    def _find(self, reference: str) -> Iterator[JsonValue]:
        fragment = unquote(reference.partition("#")[2])
        yield from self._anchors.get(fragment, ())
        steps = steps_of(fragment)
        for root in self._roots:
            place: JsonValue = root
            for step in steps:
                place = _below(place, step)
            yield place


def _below(place: JsonValue, step: str) -> JsonValue:
    if isinstance(place, dict):
        return place.get(step)
    if isinstance(place, list) and step.isdecimal() and len(step) < 6 and int(step) < len(place):
        return place[int(step)]
    return None


def _objects(schema: JsonValue) -> Iterator[JsonObject]:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
