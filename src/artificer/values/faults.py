"""Why a value cannot be read, in words that repeat nothing of its content."""

from __future__ import annotations

import re

_AT = re.compile(r" - at `(?:key in )?\$(.*)`\Z", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| (.*))?\Z", re.DOTALL)
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
    place = _AT.search(message)
    if place is None:
        return "", _reason(error, message)
    steps = (named or index for named, index in _STEP.findall(place[1]))
    pointer = "".join("/" + ("*" if step == "..." else step) for step in steps)
    return pointer, _reason(error, message[: place.start()])


def _reason(error: Exception, message: str) -> str:
    for beginning, words in _BEGINNINGS.items():
        if message.startswith(beginning):
            return words.format(message.split(" ")[-1].strip("`"))
    if isinstance(error, RecursionError | UnicodeError):
        return "is nested too deeply" if isinstance(error, RecursionError) else "is not UTF-8"
    expected = _EXPECTED.match(message)
    if expected is None:
        return f"cannot be read: {message}"
    wanted, found, rest = expected.groups()
    reason = f"must be {_kinds(wanted)}"
    if found:
        return f"{reason}, not {_kinds(found)}"
    return f"{reason} {rest}" if rest else reason


def _kinds(names: str) -> str:
    return " or ".join(_WORDS.get(name, name) for name in names.split(" | "))
