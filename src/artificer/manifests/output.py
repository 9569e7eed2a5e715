"""Reading what a tool printed, as its manifest's ``[output]`` says."""

from __future__ import annotations

from artificer.contracts.evidence import Parsed
from artificer.contracts.schema import compile_schema
from artificer.manifests.keys import OutputKeys
from artificer.manifests.output_formats import READERS
from artificer.values.base import JsonValue
from artificer.values.text import clip


def parse_output(rule: OutputKeys, text: str, *, complete: bool) -> Parsed | None:
    """Parse a tool's output as its manifest says; None for plain text.

    ``complete`` is False when the text has been cut, and so cannot be parsed. What breaks the
    manifest's schema is a fault.
    """
    kind = format_of(rule)
    if kind == "text":
        return None
    name, read, data_of = READERS[kind]
    if not complete:
        return Parsed(fault=f"the output is too long to be read as {name}")
    try:
        results = read(text)
    except (ValueError, RecursionError) as error:
        return Parsed(fault=f"the output is not {name}: {clip(str(error), 200)}")
    return checked(rule, results, data_of(text, results))


def checked(rule: OutputKeys, results: JsonValue, data: str) -> Parsed:
    """Validate results against the manifest's schema, if it has one."""
    if rule.result is not None:
        problems = compile_schema(rule.result).problems(results)
        if problems:
            first = "; ".join(f"{p.pointer or '/'} {p.message}" for p in problems[:10])
            return Parsed(results, fault=f"the output breaks its schema: {first}")
    return Parsed(results, data=data)


def format_of(rule: OutputKeys) -> str:
    """The format that is read: ``builtin:json`` beats ``format``; a parser program prints JSON."""
    if rule.parser is None:
        return rule.format
    return "json" if rule.script else rule.parser.partition(":")[2]
