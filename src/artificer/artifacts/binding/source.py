"""The data of a tool result as a binding reads it: JSON whose numbers keep every digit."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

import orjson

from artificer.artifacts.binding.numbers import decimal_of
from artificer.values.canon import digest_of

LONGEST = 8 * 1024 * 1024
"""Bytes of data that can be bound."""


class Readable(NamedTuple):
    """Data that was read, and the digest of its bytes."""

    value: Any
    digest: str


class _Refused(ValueError):
    pass


def read_source(data: bytes) -> Readable | str:
    """Read the data of a result; return a reason when it cannot be bound.

    A number that is too long or too large to count with stays as its text.
    """
    if len(data) > LONGEST:
        return f"its data has {len(data)} bytes; at most {LONGEST} can be bound"
    try:
        if b"\\u" in data:  # half of a surrogate pair, which no text holds
            orjson.loads(data)
        value = _DECODER.decode(data.decode())
    except _Refused as error:
        return f"its data cannot be bound: {error}"
    except (ValueError, RecursionError):
        return "its data is not JSON that can be read"
    return Readable(value, digest_of(data))


def _number(text: str) -> Decimal | str:
    found = decimal_of(text)
    return text if found is None else found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Refused("an object in it has two members of one name")
    return members


def _no_constant(name: str) -> Any:
    raise _Refused(f"{name} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_constant=_no_constant,
    parse_float=_number,
    parse_int=_number,
)
