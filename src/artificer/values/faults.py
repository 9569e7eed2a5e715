"""Why a value cannot be read, in words that repeat nothing of its content."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin

from artificer.values.nearest import nearest

_AT = r"(?s) - at `(?:key in )?\$(.*)`\Z"
_STEP = r"\.([^.\[]+)|\[(\d+|\.\.\.)\]"
_EXPECTED = r"(?s)Expected `([^`]*)`(?:, got `([^`]*)`| (.*))?\Z"
_BEGINNINGS = {
    "Invalid ": "is none of the values that are allowed",
    "Object contains unknown field ": "has a member that is not known: {}",
    "Object missing required field ": "lacks the member {}",
}
_WORDS = {
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "str": "a string",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def fault_of(error: Exception) -> tuple[str, str]:
    """Return where a value is wrong, as a JSON Pointer, and why."""
    message = str(error)
    place = re.search(_AT, message)
    if place is None:
        return "", _reason(error, message)
    steps = (named or index for named, index in re.findall(_STEP, place[1]))
    pointer = "".join("/" + ("*" if step == "..." else step) for step in steps)
    return pointer, _reason(error, message[: place.start()])


def meant(value: object, kind: Any) -> str | None:
    """Return which of the texts that a type allows may have been meant; None if it takes others."""
    allowed = _texts(kind)
    written = value if isinstance(value, (list, tuple)) else (value,)
    unknown = [text for text in written if isinstance(text, str) and text not in allowed]
    return nearest(unknown[0], allowed) if allowed and unknown else None


def _texts(kind: Any) -> list[str]:
    """The texts that a type lists."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return [part for part in parts if isinstance(part, str)]
    return [text for part in parts for text in _texts(part)]


def _reason(error: Exception, message: str) -> str:
    for beginning, words in _BEGINNINGS.items():
        if message.startswith(beginning):
            return words.format(message.split(" ")[-1].strip("`"))
    if isinstance(error, (RecursionError, UnicodeError)):
        return "is nested too deeply" if isinstance(error, RecursionError) else "is not UTF-8"
    expected = re.match(_EXPECTED, message)
    if expected is None:
        return f"cannot be read: {message}"
    wanted, found, rest = expected.groups()
    reason = f"must be {_kinds(wanted)}"
    if found:
        return f"{reason}, not {_kinds(found)}"
    return f"{reason} {rest}" if rest else reason


def _kinds(names: str) -> str:
    return " or ".join(_WORDS.get(name, name) for name in names.split(" | "))
