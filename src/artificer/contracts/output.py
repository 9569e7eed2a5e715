"""Reading what a command printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import JsonValue

from artificer.contracts.manifest_keys import OutputKeys
from artificer.contracts.schema import compile_schema
from artificer.values.text import clip


@dataclass(frozen=True)
class Parsed:
    """What a text says, or why it cannot be read (``fault``)."""

    results: JsonValue = None
    fault: str | None = None


def parse_output(rule: OutputKeys, text: str, *, complete: bool) -> Parsed | None:
    """Parse a command's standard output as its manifest says; None for plain text.

    ``complete`` is False when the text has been cut, and so cannot be parsed.
    """
    if rule.format == "text":
        return None
    if not complete:
        return Parsed(fault="the output is too long to be read as JSON")
    try:
        results: Any = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Parsed(fault=f"the output is not JSON: {clip(str(error), 200)}")
    if rule.result is not None:
        problems = compile_schema(rule.result).problems(results)
        if problems:
            first = "; ".join(f"{p.pointer or '/'} {p.message}" for p in problems[:10])
            return Parsed(results, fault=f"the output breaks its schema: {first}")
    return Parsed(results)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
