"""Tool schemas for a small model, narrowed so that a grammar can enforce them.

llama.cpp turns the schema into a grammar that constrains the model's reply. With an unbounded
string, a model runs on to the token limit (18 of 20 calls with an unbounded schema were cut off,
none of 20 with a bounded one), and a keyword unknown to the converter fails the whole request. So
the copy below is bounded everywhere, uses only keywords that the converter knows, has only the
required members, and puts names before ids, because a small model writes better ids after it has
written the name.

Every call that fits the copy fits the tool's own schema, except for the keywords left out here.
The gate checks every call against the tool's own schema in any case.
"""

from __future__ import annotations

import json
import re

from artificer.contracts.definition import ToolDefinition
from artificer.contracts.response_format import ResponseFormat
from artificer.providers.local_bound import NamedData, bound
from artificer.values.base import JsonObject, JsonValue
from artificer.values.pointer import steps_of

NOTHING = NamedData()

MAX_STRING = 60
MAX_ITEMS = 8
SLUG = "^[a-z][a-z0-9-]{1,15}$"
"""Replaces a pattern that accepts slugs, because a small model fills a long id with noise."""

WORD = "^[a-z][a-z0-9]{1,11}$"
"""Replaces a pattern that no grammar can express and that accepts words, such as kebab-case."""

MAX_DEPTH = 12

_WORDS = ("ab", "a1", "z9z9z9z9z9z9")
_SLUGS = ("a1", "ab", "a-b", "z9z-9zz-0zz-1zzz")
_NAMING = ("title", "name", "label")
_PLAIN_PATTERN = re.compile(
    r"\^(?:(?:\[[^\[\]\\]+\]|[A-Za-z0-9_-])(?:[*+?]|\{\d{1,3}(?:,\d{1,3})?\})?)+\$"
)
"""Anchored sequences of classes and characters, which all regular expression engines agree on."""


def offered(tool: ToolDefinition, named: NamedData = NOTHING) -> ToolDefinition:
    """Return the tool for a small model, with a one-sentence description and a narrow schema.

    A tool that takes ``data`` takes what results have ``named``, where there is something.
    """
    sentence = re.split(r"(?<=[.!?])\s", tool.description.strip(), maxsplit=1)[0]
    schema = bound(tool, named) or _narrow(tool.input_schema, tool.input_schema, 0)
    return tool.replace(description=sentence, input_schema=schema)


def narrowed(response_format: ResponseFormat) -> ResponseFormat:
    """Return a response format that a grammar can enforce."""
    schema = response_format.to_schema()
    text = json.dumps(_narrow(schema, schema, 0), ensure_ascii=False)
    return response_format.replace(json_schema=text)


def _narrow(schema: JsonValue, root: JsonObject, depth: int) -> JsonObject:
    """Return the narrowed copy of a schema; a part it cannot express becomes a short string."""
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
            # The first that is not null, because small models fail at choices between shapes.
            return next((one for one in options if one != {"type": "null"}), options[0])
    return _target(schema.get("$ref"), root)


def _target(ref: JsonValue, root: JsonObject) -> JsonValue:
    """Return the target of a reference inside the schema, or None."""
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return None
    place: JsonValue = root
    for name in steps_of(ref):
        place = place.get(name) if isinstance(place, dict) else None
    return place


def _object(schema: JsonObject, root: JsonObject, depth: int) -> JsonObject:
    """Keep the required members and a title; without required members keep everything."""
    declared = schema.get("properties")
    properties = declared if isinstance(declared, dict) else {}
    required = schema.get("required")
    wanted = [n for n in required if n in properties] if isinstance(required, list) else []
    # Sorted, because a stored toolset has its members sorted.
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
    """Return the order of a member: constants first, names before others, ids last."""
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
    """Bound a string: by its pattern if the converter supports it, else by its length."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and _PLAIN_PATTERN.fullmatch(pattern):
        if _takes(pattern, _SLUGS):
            return {"type": "string", "pattern": SLUG}
        if not re.search(r"[*+]", pattern):
            return {"type": "string", "pattern": pattern}
    elif isinstance(pattern, str) and _takes(pattern, _WORDS):
        return {"type": "string", "pattern": WORD}
    least = max(1, _count(schema, "minLength", 1))
    longest = max(least, min(_count(schema, "maxLength", MAX_STRING), MAX_STRING))
    return {"type": "string", "minLength": least, "maxLength": longest}


def _takes(pattern: str, samples: tuple[str, ...]) -> bool:
    try:
        return all(re.search(pattern, sample) for sample in samples)
    except re.error:
        return False


def _count(schema: JsonObject, keyword: str, default: int) -> int:
    value = schema.get(keyword)
    return value if type(value) is int and value >= 0 else default
