"""The types of a manifest's arguments: each has a JSON Schema, and what no schema can say.

The rules are those of ``docs/manifests.md``, stricter than the format's reference: values are
typed JSON, nothing is coerced, patterns match the whole value and run on a linear-time engine
(the schema's), addresses are addresses and not what some C library takes for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple, get_args

from artificer.contracts.addresses import (
    MAX_HOST,
    ip_of,
    network_of,
    refuse_target,
    refuse_url,
)
from artificer.values.base import JsonObject, JsonValue, Meta, Value
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
    "cidr",
    "scope_target",
    "credential_file",
    "duration",
    "msf_options",
    "regex_match",
]

ARGUMENT_TYPES: tuple[str, ...] = get_args(ArgumentType)

NUMBERS = ("integer", "number", "port")
FILES = ("path", "credential_file")
"""Types whose values name files, and are held inside the tools' folder."""

MAX_TEXT = 32_000
"""Characters of one value: Linux takes at most 128 KiB for one argument (MAX_ARG_STRLEN)."""

MAX_ITEMS = 1_000
"""Values that a list may have, at most."""

MAX_PATH = 4_096
"""Characters of a path (PATH_MAX)."""

METACHARACTERS = frozenset(";|&$`(){}[]<>!\n\r")
"""Characters that the format's reference refuses in every text (``docs/manifests.md``)."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Unicode's control characters, and halves of surrogate pairs."""

_N = "[0-9]{1,9}"
_DURATION = f"^({_N}|({_N}h)?({_N}m)?({_N}s)?({_N}ms)?)$"
_MSF_PAIR = re.compile(r"[A-Z][A-Z0-9_]* [^|&$`(){}\[\]<>!]+")


class Argument(Value):
    """One ``[args.NAME]`` table, with its name.

    ``allow_dash``, ``multiline`` and ``list`` are ours: they let a value begin with ``-``, hold
    newlines and tabs, or be a list of at most ``max_items`` values. ``min`` and ``max`` bound
    numbers; with ``clamp`` a number beyond them is brought to the nearest of them. With
    ``scope_check`` the value must lie in the folder's scope. ``sanitize`` may name
    ``"injection"``: then the metacharacters of shells are refused, as the reference does always.

    ``written`` are the keys of the table in a file: one that means nothing there is a fault. The
    table has been checked; making an argument in code checks nothing, but ``verified`` does.
    """

    name: str
    type: ArgumentType = "string"
    description: str = ""
    position: int = 0
    required: bool = False
    default: JsonValue = None
    allowed: tuple[str, ...] = ()
    pattern: str | None = None
    min: int | float | None = None
    max: int | float | None = None
    clamp: bool = False
    schemes: Annotated[tuple[str, ...], Meta(min_length=1)] = ("http", "https")
    sanitize: tuple[Literal["injection"], ...] = ()
    scope_check: bool = False
    allow_dash: bool = False
    multiline: bool = False
    list: bool = False
    max_items: Annotated[int, Meta(ge=1, le=MAX_ITEMS)] = 100
    written: frozenset[str] = frozenset()

    def each(self, value: JsonValue) -> tuple[JsonValue, ...]:
        """The single values in what was given: of a list its items, else the value itself."""
        return tuple(value) if self.list and isinstance(value, list) else (value,)


class _Rules(NamedTuple):
    schema: Callable[[Argument], JsonObject]
    refusal: Callable[[Argument, str], str | None]


def schema_of(argument: Argument) -> JsonObject:
    """The JSON Schema of an argument, with every constraint that a schema can express."""
    schema = _RULES[argument.type].schema(argument)
    if argument.pattern:
        schema["pattern"] = f"^(?:{argument.pattern})$"
    if argument.allowed:
        schema["enum"] = list(argument.allowed)
    if argument.list:
        schema = {"type": "array", "items": schema, "maxItems": argument.max_items}
        if argument.required:
            schema["minItems"] = 1
    if description := _description(argument):
        schema["description"] = description
    if argument.default is not None:
        schema["default"] = argument.default
    return schema


def _description(argument: Argument) -> str:
    if not argument.clamp:
        return argument.description
    low, high = bounds_of(argument)
    clamping = f"A value beyond {low} to {high} is brought to the nearest of them."
    return f"{argument.description} {clamping}".strip()


def refusal(argument: Argument, value: JsonValue) -> str | None:
    """Why one value that passed the schema is refused all the same, or None."""
    if argument.type in _UNWRITTEN and not isinstance(value, (str, list, dict)):
        return None
    text = text_of(value)
    if not text.isprintable():  # a quick look: only such a text can hold one
        for found in _CONTROL.finditer(text):
            if not argument.multiline or found[0] not in "\n\t":
                return f"holds the control character U+{ord(found[0]):04X}"
    if argument.sanitize and not METACHARACTERS.isdisjoint(text) and argument.type not in _OWN:
        return f"holds one of the characters {''.join(sorted(METACHARACTERS)).strip()}"
    return _RULES[argument.type].refusal(argument, text)


def operand_of(argument: Argument, value: JsonValue) -> str:
    """How a value is written where a program reads it as an argument.

    A path that a program could take for something else is written as ``./path``: one that begins
    with an option's or an operator's sign, ``scheme:name``, ``host:name`` and ``variable=name``.
    What the manifest itself lists or lets begin with ``-`` is written as it is.
    """
    text = text_of(value)
    if argument.type not in FILES or text in argument.allowed:
        return text
    if argument.allow_dash and text.startswith("-"):
        return text
    return text if _PLAIN_STEP.fullmatch(text.partition("/")[0]) else f"./{text}"


_PLAIN_STEP = re.compile(r"[\w.][^:=]*")
"""The first step of a path that reads as a file's name and as nothing else."""

_UNWRITTEN = (*NUMBERS, "boolean")
"""Types whose values are not texts: nothing can be hidden in them."""

_OWN = ("enum", "msf_options", *_UNWRITTEN)
"""Types for which ``sanitize`` adds nothing: they list or check their characters themselves."""


def text_of(value: JsonValue) -> str:
    """How a value is written on a command line: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    if type(value) is int and abs(value) <= MAX_SAFE_INTEGER:
        return str(value)
    return canonical(value).decode()


def begins_option(argument: Argument, text: str) -> bool:
    """Whether a text looks like an option by what was given, and not by what the manifest lists."""
    return text.startswith("-") and not argument.allow_dash and text not in argument.allowed


def bounds_of(argument: Argument) -> tuple[float, float]:
    """The least and the greatest value of a number, integer or port."""
    low, high = _LIMITS[argument.type]
    low = low if argument.min is None else max(low, argument.min)
    return low, high if argument.max is None else min(high, argument.max)


_LIMITS: dict[str, tuple[float, float]] = {
    "integer": (-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
    "number": (float("-inf"), float("inf")),
    "port": (1, 65535),
}


# --- schemas ----------------------------------------------------------------------------------


def _text(argument: Argument) -> JsonObject:
    return {"type": "string", "maxLength": MAX_TEXT}


def _path(argument: Argument) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": MAX_PATH}


def _target(argument: Argument) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": MAX_HOST}


def _cidr(argument: Argument) -> JsonObject:
    return {"type": "string", "pattern": "^[0-9A-Fa-f:.]+/[0-9]{1,3}$", "maxLength": 49}


def _number(argument: Argument) -> JsonObject:
    kind = "number" if argument.type == "number" else "integer"
    schema: JsonObject = {"type": kind}
    low, high = _LIMITS[argument.type] if argument.clamp else bounds_of(argument)
    if low != float("-inf"):
        schema["minimum"] = low
    if high != float("inf"):
        schema["maximum"] = high
    return schema


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
    if "://" in text:  # which many programs open in place of a file
        return "must be a path, not a URL"
    return None


def _refuse_ip(argument: Argument, text: str) -> str | None:
    return None if ip_of(text) else "is not an IP address"


def _refuse_cidr(argument: Argument, text: str) -> str | None:
    return None if network_of(text) else "is not a network in CIDR notation"


def _refuse_target(argument: Argument, text: str) -> str | None:
    return refuse_target(text)


def _refuse_url(argument: Argument, text: str) -> str | None:
    return refuse_url(text, argument.schemes)


def _refuse_msf(argument: Argument, text: str) -> str | None:
    pairs = [pair.strip() for pair in text.split(";")]
    if all(_MSF_PAIR.fullmatch(pair) for pair in pairs if pair):
        return None
    return "is not a list such as 'RHOSTS 10.0.0.1; RPORT 445'"


_RULES: dict[str, _Rules] = {
    "string": _Rules(_text, _nothing),
    "regex_match": _Rules(_text, _nothing),
    "enum": _Rules(_text, _nothing),
    "integer": _Rules(_number, _nothing),
    "number": _Rules(_number, _nothing),
    "port": _Rules(_number, _nothing),
    "boolean": _Rules(_boolean, _nothing),
    "duration": _Rules(_duration, _nothing),
    "path": _Rules(_path, _refuse_path),
    "credential_file": _Rules(_path, _refuse_path),
    "ip_address": _Rules(_text, _refuse_ip),
    "cidr": _Rules(_cidr, _refuse_cidr),
    "scope_target": _Rules(_target, _refuse_target),
    "url": _Rules(_url, _refuse_url),
    "msf_options": _Rules(_text, _refuse_msf),
}
