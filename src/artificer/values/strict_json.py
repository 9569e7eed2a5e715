"""Reading JSON that a model wrote: nothing is guessed, nothing is lost.

The raw text is always kept by the caller. What :func:`parse_object` returns can be written as
canonical JSON again; everything that could not be is a :class:`Problem` for the model.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
from msgspec import Struct

from artificer.errors import CanonicalError
from artificer.values.base import JsonObject, JsonValue, Problem
from artificer.values.canon import MAX_SAFE_INTEGER, canonical, canonical_if_plain
from artificer.values.text import clip

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects that is read."""

_FIRST_EXPONENT = 1e21
"""From here on canonical JSON writes a number with an exponent. Below it, a whole number is written
as an integer, and one beyond 2**53 - 1 could not be read back."""


class _Refused(ValueError):
    pass


class ParsedObject(Struct, frozen=True):
    """An object, and its canonical JSON text."""

    value: JsonObject
    canonical: str


def parse_canonical(text: str) -> ParsedObject | tuple[Problem, ...]:
    """Parse the arguments of a tool call as :func:`parse_object` does, and write them again."""
    plain = _plain(text)
    if plain is not None:
        return plain
    value = parse_object(text)
    return value if isinstance(value, tuple) else ParsedObject(value, canonical(value).decode())


def _plain(text: str) -> ParsedObject | None:
    """Read an object with the fast reader, or return None if the strict one has to look.

    The fast reader keeps the last of several members of one name. Where no text holds an escape,
    each has two quotation marks: as many must be written as were read.
    """
    if "\\" in text or text.count("{") + text.count("[") >= MAX_DEPTH:
        return None
    try:
        value = orjson.loads(text)
        data = canonical_if_plain(value)
    except (orjson.JSONDecodeError, CanonicalError):
        return None
    if data is None or not isinstance(value, dict) or data.count(b'"') != text.count('"'):
        return None
    return ParsedObject(value, data.decode())


def parse_object(text: str) -> JsonObject | tuple[Problem, ...]:
    """Parse the arguments of a tool call, as :func:`parse_value` does, and demand an object.

    An empty or blank text means no arguments, ``{}``: that is how providers send a call of a tool
    without parameters.
    """
    value = parse_value(text) if text.strip() else {}
    if isinstance(value, (dict, tuple)):
        return value
    kind = {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(
        type(value), "number"
    )
    return (Problem(pointer="", message="must be a JSON object", limit="object", actual=kind),)


def parse_value(text: str) -> JsonValue | tuple[Problem, ...]:
    """Parse any JSON value that a model wrote.

    Returns problems for text that is not JSON, repeats a member, holds a number outside the
    interoperable range (RFC 8259 section 6), a lone surrogate, or nests deeper than MAX_DEPTH.
    """
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
        value: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        return (Problem(pointer="", message=f"not valid JSON: {error.msg} at {where}"),)
    except (_Refused, RecursionError, ValueError) as error:
        reason = str(error) if isinstance(error, _Refused) else "nested too deeply or out of range"
        return (Problem(pointer="", message=f"not acceptable JSON: {reason}"),)
    fault = None if _harmless(text) else _fault(value, 1)
    if fault:
        return (Problem(pointer="", message=f"not acceptable JSON: {fault}"),)
    return value


def _harmless(text: str) -> bool:
    """Whether a text can neither hold half of a surrogate pair nor be nested too deeply."""
    return text.isascii() and "\\u" not in text and text.count("{") + text.count("[") < MAX_DEPTH


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise _Refused(f"member {clip(name, 40)!r} appears more than once")
        result[name] = value
    return result


def _no_constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused(f"the number {text[:40]} is too large")
    if value.is_integer() and MAX_SAFE_INTEGER < abs(value) < _FIRST_EXPONENT:
        raise _Refused(f"the number {text[:40]} is beyond 2**53 - 1; send it as a string")
    return value


def _safe_integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_SAFE_INTEGER:
        raise _Refused(f"the integer {text[:40]} is beyond 2**53 - 1; send it as a string")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_no_duplicates,
    parse_constant=_no_constant,
    parse_float=_finite,
    parse_int=_safe_integer,
)


def _fault(value: Any, depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH} levels"
    if isinstance(value, str):
        return None if _encodable(value) else "a string holds a lone surrogate"
    if isinstance(value, dict):
        for name, member in value.items():
            if not _encodable(name):
                return "a member name holds a lone surrogate"
            if fault := _fault(member, depth + 1):
                return fault
    elif isinstance(value, list):
        for item in value:
            if fault := _fault(item, depth + 1):
                return fault
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
