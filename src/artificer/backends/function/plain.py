"""Arguments of plain types, without pydantic: importing it takes longer than many runs.

Plain are ``str``, ``int``, ``float``, ``bool``, a ``Literal`` of strings, and lists, dicts and
optional values of these. Whatever is not, and every argument that does not fit, is left to
:mod:`artificer.backends.function.typed`, so that there is one wording of each error. Of what is
plain, the schemas and the values are the same; a property test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import orjson

from artificer.backends.function.argument import REQUIRED, FunctionArgument
from artificer.values.base import JsonObject

_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}

_ODD_NAMES = ("default", "properties")
"""Names of which pydantic takes the schema for something else, and leaves it in another order."""

_DEPTH = 16
"""Levels of a result that are looked at before it counts as not plain."""


class _NotPlainError(Exception):
    """A type or a value that this module does not know."""


def schema_of(arguments: Sequence[FunctionArgument]) -> JsonObject | None:
    """Return the JSON Schema of the arguments, or None if the type of any is not plain."""
    try:
        properties: JsonObject = {argument.name: _property(argument) for argument in arguments}
    except _NotPlainError:
        return None
    schema: JsonObject = {"additionalProperties": False, "properties": properties}
    if required := [argument.name for argument in arguments if argument.default is REQUIRED]:
        schema["required"] = [*required]
    return {**schema, "type": "object"}


def values_of(arguments: Sequence[FunctionArgument], data: bytes) -> dict[str, Any] | None:
    """Return the keyword arguments in a JSON object, or None if any does not fit its type."""
    passed, values = orjson.loads(data), {}
    if not isinstance(passed, dict):
        return None
    try:
        for argument in arguments:
            if argument.name in passed:
                values[argument.name] = _value(argument.hint, passed[argument.name])
            elif argument.default is REQUIRED:
                return None
    except _NotPlainError:
        return None
    return values if len(values) == len(passed) else None


def is_plain(value: Any, depth: int = _DEPTH) -> bool:
    """Return whether a result is JSON as it is."""
    if value is None or type(value) in _TYPES:
        return True
    if depth and type(value) is list:
        return all(is_plain(item, depth - 1) for item in value)
    if depth and type(value) is dict:
        return all(type(k) is str and is_plain(item, depth - 1) for k, item in value.items())
    return False


def _property(argument: FunctionArgument) -> JsonObject:
    if argument.name in _ODD_NAMES:
        raise _NotPlainError
    schema = _schema(argument.hint)
    if argument.default is not REQUIRED:
        schema["default"] = _default(argument)
    if argument.documented:
        schema["description"] = argument.documented
    return dict(sorted(schema.items()))


def _default(argument: FunctionArgument) -> Any:
    """Return a default of the argument's own type."""
    default = argument.default
    if isinstance(default, (list, dict)) or (
        isinstance(default, float) and not math.isfinite(default)
    ):
        raise _NotPlainError
    if type(value := _value(argument.hint, default)) is not type(default):
        raise _NotPlainError
    return value


def _schema(hint: Any) -> JsonObject:
    if (kind := _named(hint)) is not None:
        return {"type": kind}
    inner = get_args(hint)
    if (optional := _optional(hint)) is not None:
        return {"anyOf": [_schema(optional), {"type": "null"}]}
    match get_origin(hint):
        case kind if kind is Literal and all(type(option) is str for option in inner):
            options: JsonObject = {"const": inner[0]} if len(inner) == 1 else {"enum": [*inner]}
            return {**options, "type": "string"}
        case kind if kind is list:
            return {"items": _schema(inner[0]), "type": "array"}
        case kind if kind is dict and inner[0] is str:
            return {"additionalProperties": _schema(inner[1]), "type": "object"}
    raise _NotPlainError


def _value(hint: Any, value: Any) -> Any:
    """Return a JSON value as one of a plain type."""
    if type(value) is hint and hint in _TYPES:
        return value
    if _named(hint) is not None:
        if hint is float and type(value) is int:
            return float(value)
        raise _NotPlainError
    inner = get_args(hint)
    if (optional := _optional(hint)) is not None:
        return None if value is None else _value(optional, value)
    match get_origin(hint):
        case kind if kind is Literal and type(value) is str and value in inner:
            return value
        case kind if kind is list and isinstance(value, list):
            return [_value(inner[0], item) for item in value]
        case kind if kind is dict and isinstance(value, dict):
            return {name: _value(inner[1], item) for name, item in value.items()}
    raise _NotPlainError


def _named(hint: Any) -> str | None:
    return _TYPES.get(hint) if isinstance(hint, type) else None


def _optional(hint: Any) -> Any | None:
    """Return the type that an optional one adds None to."""
    if get_origin(hint) not in (Union, UnionType):
        return None
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    if len(kinds) != 1 or len(get_args(hint)) != 2:
        raise _NotPlainError
    return kinds[0]
