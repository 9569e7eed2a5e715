"""Unions whose branches are only accepted or not, so that a refused value is explained at once.

For a refused union, the validator collects the errors of each branch, and theirs of each branch
inside: in a recursive schema, that grows exponentially with the depth of the value. We say only
that the union is broken. So the branches are hidden behind two negations, which have no errors.
"""

from __future__ import annotations

from urllib.parse import unquote

from artificer.contracts.schema_cost import REFERENCES
from artificer.values.base import JsonObject, JsonValue

_UNIONS = ("anyOf", "oneOf")
_DATA = ("enum", "const", "default", "examples")
"""Keywords whose values are not schemas."""

_SEES_BRANCHES = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords that depend on what a branch has accepted, which a negation does not tell."""


def hide_branches(schema: JsonObject) -> JsonObject | None:
    """Return a schema that refuses the same values, with the same errors outside of unions.

    None if there is nothing to hide, or if something in the schema looks into a union.
    """
    try:
        if not _has(schema, _UNIONS) or _looks_inside(schema):
            return None
        hidden = _hidden(schema)
    except RecursionError:
        return None
    assert isinstance(hidden, dict)
    return hidden


def _hidden(node: JsonValue) -> JsonValue:
    if isinstance(node, list):
        return [_hidden(item) for item in node]
    if not isinstance(node, dict):
        return node
    found: JsonObject = {}
    for key, value in node.items():
        if key in _UNIONS and isinstance(value, list):
            found[key] = [_negated_twice(branch) for branch in value]
        else:
            found[key] = value if key in _DATA else _hidden(value)
    return found


def _negated_twice(branch: JsonValue) -> JsonValue:
    return {"not": {"not": _hidden(branch)}} if isinstance(branch, dict) else branch


def _looks_inside(schema: JsonObject) -> bool:
    return _has(schema, _SEES_BRANCHES) or _refers_to_branch(schema)


def _has(node: JsonValue, keys: tuple[str, ...]) -> bool:
    if isinstance(node, list):
        return any(_has(item, keys) for item in node)
    if not isinstance(node, dict):
        return False
    return any(key in node for key in keys) or any(_has(value, keys) for value in node.values())


def _refers_to_branch(node: JsonValue) -> bool:
    """Whether a reference leads through a union: its path would be another one."""
    if isinstance(node, list):
        return any(map(_refers_to_branch, node))
    if not isinstance(node, dict):
        return False
    paths = [
        unquote(path).split("/") for key in REFERENCES if isinstance(path := node.get(key), str)
    ]
    if any(not set(_UNIONS).isdisjoint(path) for path in paths):
        return True
    return any(map(_refers_to_branch, node.values()))
