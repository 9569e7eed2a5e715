"""JSON of a tool's result, read without a loss: no number ever passes through a float.

:func:`parse` and :func:`exact` keep every number as its source wrote it. What cannot be exact is
refused: a repeated member, NaN, half of a surrogate pair, a number beyond the range of IEEE 754
decimal128, nesting that is too deep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from artificer.values.text import clip

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects."""

MAX_NUMBER = 128
"""Characters of the longest number."""

MAX_EXPONENT = 6_144
"""Largest power of ten of a number, up or down: that of decimal128."""


class InexactError(ValueError):
    """The text is not JSON, or has no exact meaning; the message says why."""


def parse(text: str) -> Any:
    """Read JSON with each number as a `msgspec.Raw`, its own text. Raises InexactError."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_members,
        parse_float=_raw,
        parse_int=_raw,
        parse_constant=_no_constant,
    )
    try:
        value = decoder.decode(text)
    except InexactError:
        raise
    except RecursionError as error:
        raise InexactError(f"it is nested more than {MAX_DEPTH} deep") from error
    except ValueError as error:
        raise InexactError("it is not JSON") from error
    if text.count("{") + text.count("[") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise InexactError(f"it is nested more than {MAX_DEPTH} deep")
    return value


def exact(value: Any) -> str:
    """Write what :func:`parse` has read: no spaces, numbers as they were. Raises InexactError."""
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        raise InexactError("a text holds half of a surrogate pair") from error
    if "\ufffd" in text:
        raise InexactError("some of its characters could not be read; it may not be UTF-8")
    return text


def in_order(text: str, value: Any) -> str:
    """Write JSON with the members of each object in the order of ``value``, which it stands for.

    Canonical JSON sorts them; who reads a table wants its columns as they were. A text that is not
    exact stays as it is: its reader says why.
    """
    try:
        return exact(_ordered(parse(text), value))
    except InexactError:
        return text


def is_number(value: object) -> bool:
    """Whether a value that was read here is a number."""
    return isinstance(value, msgspec.Raw)


def is_json(text: str) -> bool:
    """Whether a text is JSON, even where it cannot be exact."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _raw(text: str) -> msgspec.Raw:
    _check(text)
    return msgspec.Raw(text.encode())


def _check(text: str) -> None:
    if len(text) > MAX_NUMBER:
        raise InexactError(f"a number has {len(text):,} characters")
    if "e" in text or "E" in text:
        power = int(text.lower().rpartition("e")[2])
        if abs(power) > MAX_EXPONENT:
            raise InexactError(f"the number {clip(text, 40)} is out of range")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InexactError("an object repeats a member")
    return found


def _no_constant(name: str) -> Any:
    raise InexactError(f"{name} is not a number")


def _ordered(parsed: Any, value: Any) -> Any:
    if isinstance(parsed, dict) and isinstance(value, Mapping):
        members = {name: _ordered(parsed[name], value[name]) for name in value if name in parsed}
        return members if len(members) == len(parsed) else parsed
    if isinstance(parsed, list) and isinstance(value, (list, tuple)) and len(parsed) == len(value):
        return [_ordered(item, own) for item, own in zip(parsed, value, strict=True)]
    return parsed


def _deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    if levels == 0:
        return True
    members = value.values() if isinstance(value, dict) else value
    return any(_deeper(member, levels - 1) for member in members)
