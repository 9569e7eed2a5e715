"""Unions whose branches are only accepted or not, so that a refused value is explained at once.

For a refused union, the validator collects the errors of each branch, and theirs of each branch
inside: in a recursive schema, that grows exponentially with the depth of the value. So the branches
are hidden behind two negations, which have no errors. What a value was meant to be, if that is
clear, is then the one branch that explains it; elsewhere we say only that the union is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from artificer.contracts.schema_cost import REFERENCES
from artificer.values.base import JsonObject, JsonValue

_UNIONS = ("anyOf", "oneOf")
_DATA = ("enum", "const", "default", "examples")
"""Keywords whose values are not schemas."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}

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


def meant_branches(branches: Sequence[JsonValue], value: JsonValue) -> list[JsonObject] | None:
    """Return the branches of a union that a refused value can mean: those of its type and, if they
    are several, of the constants among its members.

    None if a branch refers elsewhere: it means nothing by itself.
    """
    known = [branch for branch in branches if isinstance(branch, dict)]
    if any(_has(branch, REFERENCES) for branch in known):
        return None
    typed = [branch for branch in known if _is_of_type(branch, value)]
    if len(typed) < 2 or not isinstance(value, dict):
        return typed
    return [branch for branch in typed if _has_constants(branch, value)] or typed


def branch_types(branches: Sequence[JsonValue]) -> list[str]:
    """Return the types that the branches of a union take, if each one names its own."""
    found: list[str] = []
    for branch in branches:
        named = branch.get("type") if isinstance(branch, dict) else None
        names = named if isinstance(named, list) else [named]
        if not all(isinstance(name, str) for name in names):
            return []
        found += [name for name in names if isinstance(name, str) and name not in found]
    return found


def _is_of_type(branch: JsonObject, value: JsonValue) -> bool:
    named = branch.get("type", [])
    names = named if isinstance(named, list) else [named]
    kind = type(value)
    return not names or any(kind in _TYPES.get(str(name), ()) for name in names)


def _has_constants(branch: JsonObject, value: JsonObject) -> bool:
    return all(value.get(name, const) == const for name, const in _constants(branch).items())


def _constants(branch: JsonObject) -> JsonObject:
    members = branch.get("properties")
    return {
        name: schema["const"]
        for name, schema in (members.items() if isinstance(members, dict) else ())
        if isinstance(schema, dict) and "const" in schema
    }


def tag_of(branches: Sequence[JsonObject]) -> tuple[str, list[JsonValue]] | None:
    """Return the member that tells several branches apart, and its constants."""
    first, *others = map(_constants, branches)
    for name in first:
        if all(name in constants for constants in others):
            return name, [constants[name] for constants in (first, *others)]
    return None


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
