"""The rules between the keys of one argument, its default included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from artificer.contracts.arguments.types import (
    FILES,
    NUMBERS,
    Argument,
    bounds_of,
    refusal,
    schema_of,
)
from artificer.contracts.schema import compile_schema
from artificer.errors import AuthorError, ToolDefinitionError
from artificer.values.base import JsonValue
from artificer.values.canon import MAX_SAFE_INTEGER

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TEXTS = (
    *("string", "regex_match", "enum", "url", "ip_address", "scope_target", "msf_options"),
    *FILES,
)
_MEANS_SOMETHING_FOR = {
    "pattern": _TEXTS,
    "allowed": _TEXTS,
    "min": NUMBERS,
    "max": NUMBERS,
    "clamp": NUMBERS,
    "schemes": ("url",),
    "multiline": _TEXTS,
}

_HARMLESS = ("clamp", "multiline")
"""Keys that hold no value back: where they mean nothing, nothing is let through."""


class Fault(NamedTuple):
    """One thing wrong with a manifest: the path of a key, and what is wrong there.

    A lenient fault is one that the reference lets pass, and that is safe to let pass: with
    ``compat`` it is a warning.
    """

    path: tuple[str, ...]
    message: str
    lenient: bool = False


def argument_faults(argument: Argument) -> list[Fault]:
    """Return an argument's faults. A default that fails is one lenient fault at ``default``."""
    path = ("args", argument.name)
    found = [Fault((*path, key), message) for key, message in _key_faults(argument)]
    found += [
        Fault((*path, key), f"has no effect for the type {argument.type!r}", key in _HARMLESS)
        for key in _MEANS_SOMETHING_FOR.keys() & argument.written
        if argument.type not in _MEANS_SOMETHING_FOR[key]
    ]
    if argument.required and argument.default is not None:
        message = "is never used, because the argument is required"
        found.append(Fault((*path, "default"), message, lenient=True))
    if argument.default is None or not all(fault.lenient for fault in found):
        return found
    reasons = default_problems(argument, argument.default)
    return [*found, *(Fault((*path, "default"), reason, lenient=True) for reason in reasons)]


def default_problems(argument: Argument, default: JsonValue) -> list[str]:
    """Why a default could not be given by a call."""
    if _plainly_fits(argument, default):
        return []
    problems = compile_schema(schema_of(argument)).problems(default)
    if problems:
        return [p.message for p in problems]
    refused = (refusal(argument, value) for value in argument.each(default))
    return [reason for reason in refused if reason]


def _plainly_fits(argument: Argument, default: JsonValue) -> bool:
    """Whether a default of the commonest kinds is right: compiling a schema for it takes long."""
    if argument.list:
        return False
    if argument.type in NUMBERS:
        low, high = bounds_of(argument)
        return type(default) is int and low <= default <= high
    if argument.type == "enum":
        return default in argument.allowed and not argument.pattern
    return argument.type == "boolean" and isinstance(default, bool)


def _key_faults(argument: Argument) -> Iterator[tuple[str, str]]:
    kind = argument.type
    if not _NAME.fullmatch(argument.name):
        yield "name", "an argument's name consists of letters, digits and '_'"
    if kind == "enum" and not argument.allowed:
        yield "allowed", "is missing: an enum needs its values"
    if kind == "regex_match" and not argument.pattern:
        yield "pattern", "is missing: a regex_match needs one"
    if "max_items" in argument.written and not argument.list:
        yield "max_items", "means nothing without 'list = true'"
    yield from _bound_faults(argument)
    if argument.pattern:
        try:  # alone: "a)|(b" would only become a pattern inside our own parentheses
            compile_schema({"pattern": argument.pattern})
        except ToolDefinitionError:
            yield "pattern", "is not a regular expression that runs in linear time"
        except AuthorError as error:
            yield "pattern", str(error)


def _bound_faults(argument: Argument) -> Iterator[tuple[str, str]]:
    if argument.min is None and argument.max is None and not argument.clamp:
        return
    if argument.min is not None and argument.max is not None and argument.min > argument.max:
        yield "min", f"{argument.min} is more than max, {argument.max}"
    if (
        argument.clamp
        and argument.type == "number"
        and (argument.min is None or argument.max is None)
    ):
        yield "clamp", "needs both 'min' and 'max'"
    for key, bound in (("min", argument.min), ("max", argument.max)):
        if argument.type != "number" and bound is not None:
            if abs(bound) > MAX_SAFE_INTEGER:
                yield key, f"is beyond {MAX_SAFE_INTEGER}, the largest integer that JSON can hold"
            elif bound != int(bound):
                yield key, f"{bound} is not an integer"
