"""The types of a manifest's arguments: each has a JSON Schema, and what no schema can say.

The rules are those of ``research/toolclad.md`` section 1.2, read strictly (section 6): values are
typed JSON, nothing is coerced, patterns match the whole value and run on a linear-time engine
(the schema's), addresses are addresses and not what some C library takes for one.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, JsonValue

from artificer.values.base import JsonObject, Value
from artificer.values.canon import MAX_SAFE_INTEGER, canonical

ArgumentType = Literal[
    "string",
    "integer",
    "number",
    "boolean",
    "enum",
    "path",
    "url",
    "port",
    "ip_address",
    "duration",
    "regex_match",
]

ARGUMENT_TYPES: tuple[str, ...] = get_args(ArgumentType)

LATER_TYPES = ("scope_target", "cidr", "msf_options", "credential_file")
"""Types of the format that this release does not know yet."""

MAX_TEXT = 32_000
"""Characters of one value: Linux takes at most 128 KiB for one argument (MAX_ARG_STRLEN)."""

MAX_PATH = 4_096
"""Characters of a path (PATH_MAX)."""

_N = "[0-9]{1,9}"
_DURATION = f"^({_N}|({_N}h)?({_N}m)?({_N}s)?({_N}ms)?)$"
_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_NUMERIC_HOST = re.compile(r"(0[xX][0-9A-Fa-f]*|[0-9]+)(\.(0[xX][0-9A-Fa-f]*|[0-9]+))*\.?")
_URL_TEXT = re.compile(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]+")
"""RFC 3986's characters: everything else must be percent-encoded."""


class Argument(Value):
    """One ``[args.NAME]`` table, with its name.

    ``allow_dash`` and ``multiline`` are ours: they let a value begin with ``-``, or hold newlines
    and tabs. ``min`` and ``max`` bound numbers.
    """

    name: str
    type: ArgumentType = "string"
    description: str = ""
    position: int = 0
    required: bool = False
    default: JsonValue = None
    allowed: tuple[str, ...] = ()
    pattern: str | None = None
    min: int | float | None = Field(default=None, validation_alias=AliasChoices("min", "min_float"))
    max: int | float | None = Field(default=None, validation_alias=AliasChoices("max", "max_float"))
    schemes: Annotated[tuple[str, ...], Field(min_length=1)] = ("http", "https")
    allow_dash: bool = False
    multiline: bool = False


class _Rules(NamedTuple):
    schema: Callable[[Argument], JsonObject]
    refusal: Callable[[Argument, str], str | None]


def schema_of(argument: Argument) -> JsonObject:
    """The JSON Schema of an argument, with every constraint that a schema can express."""
    schema = _RULES[argument.type].schema(argument)
    if argument.pattern is not None:
        schema["pattern"] = f"^(?:{argument.pattern})$"
    if argument.allowed:
        schema["enum"] = list(argument.allowed)
    if argument.description:
        schema["description"] = argument.description
    if argument.default is not None:
        schema["default"] = argument.default
    return schema


def refusal(argument: Argument, value: JsonValue) -> str | None:
    """Why a value that passed the schema is refused all the same, or None."""
    text = text_of(value)
    permitted = "\n\t" if argument.multiline else ""
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in permitted:
            return f"holds the control character U+{ord(character):04X}"
    return _RULES[argument.type].refusal(argument, text)


def text_of(value: JsonValue) -> str:
    """How a value is written on a command line: text as it is, numbers and booleans as JSON."""
    return value if isinstance(value, str) else canonical(value).decode()


# --- schemas ----------------------------------------------------------------------------------


def _text(argument: Argument) -> JsonObject:
    return {"type": "string", "maxLength": MAX_TEXT}


def _path(argument: Argument) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": MAX_PATH}


def _bounded(kind: str, low: float | None, high: float | None) -> JsonObject:
    schema: JsonObject = {"type": kind}
    if low is not None:
        schema["minimum"] = low
    if high is not None:
        schema["maximum"] = high
    return schema


def _integer(argument: Argument) -> JsonObject:
    low = -MAX_SAFE_INTEGER if argument.min is None else argument.min
    high = MAX_SAFE_INTEGER if argument.max is None else argument.max
    return _bounded("integer", low, high)


def _number(argument: Argument) -> JsonObject:
    return _bounded("number", argument.min, argument.max)


def _port(argument: Argument) -> JsonObject:
    return _bounded("integer", max(1, argument.min or 1), min(65535, argument.max or 65535))


def _boolean(argument: Argument) -> JsonObject:
    return {"type": "boolean"}


def _duration(argument: Argument) -> JsonObject:
    return {"type": "string", "minLength": 1, "pattern": _DURATION}


def _url(argument: Argument) -> JsonObject:
    return {"type": "string", "format": "uri", "maxLength": MAX_TEXT}


# --- what no schema can say -------------------------------------------------------------------


def _nothing(argument: Argument, text: str) -> None:
    return None


def _refuse_path(argument: Argument, text: str) -> str | None:
    if text.startswith(("/", "~")) or "\\" in text or text[1:2] == ":":
        return "must be a relative path"
    if ".." in text.split("/"):
        return "must not climb with '..'"
    return None


def _refuse_ip(argument: Argument, text: str) -> str | None:
    return None if _is_ip(text) else "is not an IP address"


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone id may hold anything, blanks included


def _refuse_url(argument: Argument, text: str) -> str | None:
    if not _URL_TEXT.fullmatch(text):
        return "holds characters that a URL must percent-encode"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in argument.schemes:
        return f"must begin with one of: {', '.join(f'{s}://' for s in argument.schemes)}"
    if "@" in parts.netloc:
        return "must not hold a user or a password"
    if port == 0 or not _is_host(host, bracketed="[" in parts.netloc):
        return "has no valid host and port"
    return None


def _is_host(host: str, *, bracketed: bool) -> bool:
    if bracketed or _NUMERIC_HOST.fullmatch(host):  # 2130706433 and 0x7f.1 are no host names
        return _is_ip(host)
    return len(host) <= 253 and _HOST.fullmatch(host) is not None


_RULES: dict[str, _Rules] = {
    "string": _Rules(_text, _nothing),
    "regex_match": _Rules(_text, _nothing),
    "enum": _Rules(_text, _nothing),
    "integer": _Rules(_integer, _nothing),
    "number": _Rules(_number, _nothing),
    "port": _Rules(_port, _nothing),
    "boolean": _Rules(_boolean, _nothing),
    "duration": _Rules(_duration, _nothing),
    "path": _Rules(_path, _refuse_path),
    "ip_address": _Rules(_text, _refuse_ip),
    "url": _Rules(_url, _refuse_url),
}
