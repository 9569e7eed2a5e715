"""What a small model is offered of a tool: its schema, narrowed so that grammar can hold it.

llama.cpp turns the schema into a grammar that the model's reply cannot leave. An unbounded string
is then an invitation to run on to the token limit (18 of 20 calls with an unbounded schema were
cut off, none of 20 with a bounded one), and a keyword that the converter
does not know fails the whole request. So the copy below is bounded everywhere, holds only keywords
that the converter takes, asks only for what the tool requires, and asks for names before ids,
because a small model writes better when it has said what it writes about.

Whatever fits the offer fits the tool's own schema, apart from keywords left out here. The gate
checks every call against the tool's own schema in any case.
"""

from __future__ import annotations

import json
import re

from artificer.contracts.definition import ToolDefinition
from artificer.contracts.response_format import ResponseFormat
from artificer.values.base import JsonObject, JsonValue

MAX_STRING = 60
MAX_ITEMS = 8
SLUG = "^[a-z][a-z0-9-]{1,15}$"
"""What is offered for a pattern that takes slugs: a small model fills a long id with noise."""

WORD = "^[a-z][a-z0-9]{1,11}$"
"""What is offered for a pattern that no grammar holds and that takes words, such as kebab-case."""

MAX_DEPTH = 12

_WORDS = ("ab", "a1", "z9z9z9z9z9z9")
_SLUGS = ("a1", "ab", "a-b", "z9z-9zz-0zz-1zzz")
_NAMING = ("title", "name", "label")
_PLAIN_PATTERN = re.compile(
    r"\^(?:(?:\[[^\[\]\\]+\]|[A-Za-z0-9_-])(?:[*+?]|\{\d{1,3}(?:,\d{1,3})?\})?)+\$"
)
"""Anchored sequences of classes and characters: what every regular expression engine agrees on."""


def offered(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool as a small model is offered it: one sentence, and a narrow schema."""
    sentence = re.split(r"(?<=[.!?])\s", tool.description.strip(), maxsplit=1)[0]
    schema = _narrow(tool.input_schema, tool.input_schema, 0)
    return tool.model_copy(update={"description": sentence, "input_schema": schema})


def narrowed(asked: ResponseFormat) -> ResponseFormat:
    """Return a response format as grammar can hold it."""
    schema = asked.to_schema()
    text = json.dumps(_narrow(schema, schema, 0), ensure_ascii=False)
    return asked.model_copy(update={"json_schema": text})


def _narrow(schema: JsonValue, root: JsonObject, depth: int) -> JsonObject:
    """Return the narrowed copy of a schema; what it cannot say becomes a short string."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return _string({})
    if (other := _elsewhere(schema, root)) is not None:
        return _narrow(other, root, depth + 1)
    if "const" in schema or "enum" in schema:
        return {k: schema[k] for k in ("const", "enum") if k in schema}
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        return _array(schema, root, depth)
    return _scalar(schema, kind)


def _elsewhere(schema: JsonObject, root: JsonObject) -> JsonValue:
    """Return the schema that this one refers to, or the first of its useful alternatives."""
    for keyword in ("anyOf", "oneOf", "allOf"):
        options = schema.get(keyword)
        if isinstance(options, list) and options:
            # The first that is not null: choices between shapes are what small models fail at.
            return next((one for one in options if one != {"type": "null"}), options[0])
    return _target(schema.get("$ref"), root)


def _target(ref: JsonValue, root: JsonObject) -> JsonValue:
    """Return what a reference inside the schema names, or None."""
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return None
    place: JsonValue = root
    for step in ref[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, dict) else None
    return place


def _object(schema: JsonObject, root: JsonObject, depth: int) -> JsonObject:
    """Keep what is required, and a title; where nothing is required, keep everything."""
    given = schema.get("properties")
    properties = given if isinstance(given, dict) else {}
    required = schema.get("required")
    wanted = [n for n in required if n in properties] if isinstance(required, list) else []
    # Sorted, not as written: a toolset that was stored comes back with its members sorted.
    extra = [n for n in sorted(properties) if n == "title" or not wanted]
    names = dict.fromkeys([*map(str, wanted), *extra])
    members = {name: _narrow(properties[name], root, depth + 1) for name in names}
    ordered = sorted(members, key=lambda name: _rank(name, members[name]))
    return {
        "type": "object",
        "properties": {name: members[name] for name in ordered},
        "required": list(ordered),
        "additionalProperties": False,
    }


def _rank(name: str, schema: JsonObject) -> int:
    """Constants cost no thought, names come before what they name, ids come last."""
    if "const" in schema:
        return 0
    if name in _NAMING:
        return 1
    return 3 if name == "id" else 2


def _array(schema: JsonObject, root: JsonObject, depth: int) -> JsonObject:
    least = _count(schema, "minItems", 0)
    return {
        "type": "array",
        "items": _narrow(schema.get("items"), root, depth + 1),
        "minItems": least,
        "maxItems": max(least, min(_count(schema, "maxItems", MAX_ITEMS), MAX_ITEMS)),
    }


def _scalar(schema: JsonObject, kind: JsonValue) -> JsonObject:
    if kind in ("boolean", "null"):
        return {"type": kind}
    if kind in ("integer", "number"):
        bounds = ("minimum", "maximum")
        return {"type": kind, **{k: schema[k] for k in bounds if k in schema}}
    return _string(schema)


def _string(schema: JsonObject) -> JsonObject:
    """Bound a string: by its pattern where the converter takes it, else by its length."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and _PLAIN_PATTERN.fullmatch(pattern):
        if _takes(pattern, _SLUGS):
            return {"type": "string", "pattern": SLUG}
        if not re.search(r"[*+]", pattern):
            return {"type": "string", "pattern": pattern}
    elif isinstance(pattern, str) and _takes(pattern, _WORDS):
        return {"type": "string", "pattern": WORD}
    least = max(1, _count(schema, "minLength", 1))
    most = max(least, min(_count(schema, "maxLength", MAX_STRING), MAX_STRING))
    return {"type": "string", "minLength": least, "maxLength": most}


def _takes(pattern: str, samples: tuple[str, ...]) -> bool:
    try:
        return all(re.search(pattern, sample) for sample in samples)
    except re.error:
        return False


def _count(schema: JsonObject, keyword: str, default: int) -> int:
    value = schema.get(keyword)
    return value if type(value) is int and value >= 0 else default
