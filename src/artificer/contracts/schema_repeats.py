"""How much work it is to find all the problems of a value.

A recursive schema that applies itself twice to each member does so exponentially often. And a long
value may break a rule in each of its parts, while only the first problems are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from artificer.contracts.schema_cost import REFERENCES, SchemaReferences
from artificer.values.base import JsonObject, JsonValue

LEAST = 20_000
"""Applications that are always allowed."""

PER_PART = 1_000
"""Applications that are allowed for each part of a value; at most one for each subschema."""

MAX_FOUND = 100_000
"""Problems that a value may have, if all are looked for: finding as many takes a second or two."""

PARTS_OF_A_PROBLEM = 40
"""Parts of a union's branch that take as long to report as a problem."""

STEPS = 2_000_000
"""Steps of counting, of which there are ten to a schema and a part: all take a second or two."""


def takes_too_long(schema: JsonObject, references: SchemaReferences, value: JsonValue) -> bool:
    """Return whether finding all problems of a value is out of proportion to its size."""
    if not references.are_there:
        return False
    limit = LEAST + min(references.subschemas, PER_PART) * _parts(value)
    try:
        return _Applications(references, limit).count(schema, value) > limit
    except _TooManySteps:
        return False  # so it has many parts
    except RecursionError:
        return True


def may_have_too_many(schema: JsonObject, references: SchemaReferences, value: JsonValue) -> bool:
    """Return whether a value is so long that finding all its problems may take too long."""
    try:
        return _Problems(references, MAX_FOUND).count(schema, value) > MAX_FOUND
    except (_TooManySteps, RecursionError):
        return True


class _TooManySteps(Exception):  # ends a count
    pass


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


_HIDDEN = {"not"}
"""The keywords of a branch of a union of which only the union is shown (schema_unions)."""


class _Applications:
    """Counts applications, each once however often it is repeated."""

    def __init__(self, references: SchemaReferences, limit: int) -> None:
        self._references = references
        self._limit = limit
        self._sums: dict[tuple[int, int], int] = {}
        self._steps = 0

    def count(self, node: JsonValue, value: JsonValue) -> int:
        """Return how often schemas are applied below here, at most one more than the limit."""
        self._step(10)
        if not isinstance(node, dict):
            return 1
        key = id(node), id(value)
        if key not in self._sums:
            self._sums[key] = 1  # while it is open: a reference to it leads back
            below = sum(count for word in node for count in self._below(word, node[word], value))
            self._sums[key] = min(self._own(node, value) + below, self._limit + 1)
        return self._sums[key]

    def _own(self, node: JsonObject, value: JsonValue) -> int:
        """Return the count of the schema itself."""
        return 1

    def _step(self, steps: int) -> None:
        self._steps += steps
        if self._steps > STEPS:
            raise _TooManySteps

    def _in(self, members: Collection[str]) -> Collection[str]:
        self._step(len(members))
        return members

    def _below(self, word: str, inner: JsonValue, value: JsonValue) -> Iterator[int]:
        """Yield the counts of what a keyword applies. ``not``, ``if`` and ``contains`` only ask
        whether a value is valid, which is known of each part once."""
        if word in REFERENCES and isinstance(inner, str):
            yield max((self.count(to, value) for to in self._references.named(inner)), default=0)
        elif word == "allOf" and isinstance(inner, list):
            yield from (self.count(one, value) for one in inner)
        elif word in ("anyOf", "oneOf") and isinstance(inner, list):
            yield from (self._of_branch(one, value) for one in inner)
        elif word in ("then", "else"):
            yield self.count(inner, value)
        elif isinstance(value, dict):
            yield from self._of_members(word, inner, value)
        elif isinstance(value, list):
            yield from self._of_items(word, inner, value)

    def _of_branch(self, branch: JsonValue, value: JsonValue) -> int:
        if isinstance(branch, dict) and branch.keys() == _HIDDEN:
            self._step(1)
            return self._hidden(branch)
        return self.count(branch, value)

    def _hidden(self, branch: JsonObject) -> int:
        """Return the count of a branch of a union."""
        return 1

    def _of_members(self, word: str, inner: JsonValue, value: JsonObject) -> Iterator[int]:
        if word in ("additionalProperties", "unevaluatedProperties"):
            yield from (self.count(inner, member) for member in value.values())
        elif isinstance(inner, dict) and word == "properties":
            there = [name for name in self._in(inner) if name in value]
            yield from (self.count(inner[name], value[name]) for name in there)
        elif isinstance(inner, dict) and word == "dependentSchemas":
            there = [name for name in self._in(inner) if name in value]
            yield from (self.count(inner[name], value) for name in there)
        elif isinstance(inner, dict) and word == "patternProperties":
            yield from (self.count(one, v) for one in inner.values() for v in value.values())

    def _of_items(self, word: str, inner: JsonValue, value: list[JsonValue]) -> Iterator[int]:
        if word in ("items", "unevaluatedItems"):
            yield from (self.count(inner, item) for item in value)
        elif isinstance(inner, list) and word == "prefixItems":
            yield from (self.count(one, item) for one, item in zip(inner, value, strict=False))


class _Problems(_Applications):
    """Counts the problems that a value may have at most, roughly."""

    def _hidden(self, branch: JsonObject) -> int:
        """An error of a union brings the branches: so many of their parts take as long as one."""
        key = id(branch), 0
        if key not in self._sums:
            self._sums[key] = _parts(branch) // PARTS_OF_A_PROBLEM
        return self._sums[key]

    def _own(self, node: JsonObject, value: JsonValue) -> int:
        found = 1
        for word in ("required", "enum"):
            if isinstance(listed := node.get(word), list):
                found += len(listed)
        if False in (node.get("additionalProperties"), node.get("unevaluatedProperties")):
            found += len(value) if isinstance(value, dict) else 0
        return found
