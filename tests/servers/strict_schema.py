"""Refusals of the strict modes: schemas of a tool's arguments or of the reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

Protocol = Literal["chat", "messages", "responses"]

FORMAT_MEMBERS = {
    "chat": {"response_format"},
    "messages": {"output_config"},
    "responses": {"text"},
}

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_STRUCTURE = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}
_ANTHROPIC_KEYWORDS = frozenset(_STRUCTURE | {"description", "format"})
_NUMBERS = {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_OPENAI_KEYWORDS = _ANTHROPIC_KEYWORDS | _NUMBERS | {"pattern", "minItems", "maxItems"}


class Refused(Exception):
    """The provider would answer 400; the message says why."""


def need(condition: object, message: str) -> None:
    """Raise Refused unless the condition holds."""
    if not condition:
        raise Refused(message)


def openai_strict(schema: Any) -> None:
    """Check a schema as OpenAI's strict mode does."""
    need(isinstance(schema, dict) and schema.get("type") == "object", "strict: root: object")
    _node(schema, _OPENAI_KEYWORDS, all_required=True)


def anthropic_strict(schema: Any) -> int:
    """Check a schema as Anthropic's strict mode does; return its number of optional properties."""
    return _node(schema, _ANTHROPIC_KEYWORDS, all_required=False)


def format_optional(protocol: Protocol, body: dict[str, Any]) -> int:
    """Check the response format of a request; return its number of optional properties."""
    return _FORMATS[protocol](body)


def _node(node: Any, keywords: frozenset[str], all_required: bool) -> int:
    need(isinstance(node, dict), "strict: a subschema must be an object")
    unknown = node.keys() - keywords
    need(not unknown, f"strict: {sorted(unknown)} not permitted")
    need({"type", "anyOf"} & node.keys(), "strict: schema must have a 'type' key")
    optional = 0
    kind = node.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind):
        properties = node.get("properties", {})
        required = node.get("required", [])
        need(node.get("additionalProperties") is False, "strict: additionalProperties: false")
        need(set(required) <= properties.keys(), "strict: required names unknown properties")
        optional = len(properties.keys() - set(required))
        need(not (all_required and optional), "strict: every property must be required")
    children = [*node.get("properties", {}).values(), *node.get("anyOf", [])]
    if "items" in node:
        children.append(node["items"])
    return optional + sum(_node(child, keywords, all_required) for child in children)


def _openai_format(asked: Any, where: str) -> None:
    need(isinstance(asked, dict), f"{where}: must be an object")
    unknown = asked.keys() - {"name", "schema", "strict", "description"}
    need(not unknown, f"{where}: Unknown parameter: {sorted(unknown)}")
    need(_NAME.match(str(asked.get("name", ""))), f"{where}.name: invalid")
    need(isinstance(asked.get("schema"), dict), f"{where}.schema: missing")
    if asked.get("strict"):
        openai_strict(asked["schema"])


def _chat(body: dict[str, Any]) -> int:
    asked = body.get("response_format")
    if asked is not None:
        need(asked.keys() == {"type", "json_schema"}, "response_format: unknown parameter")
        need(asked["type"] == "json_schema", "response_format.type: this double knows json_schema")
        _openai_format(asked["json_schema"], "response_format.json_schema")
    return 0


def _responses(body: dict[str, Any]) -> int:
    text = body.get("text", {})
    need(not text.keys() - {"format", "verbosity"}, "text: unknown parameter")
    asked = text.get("format")
    if asked is not None:
        need(asked.get("type") == "json_schema", "text.format.type: this double knows json_schema")
        _openai_format({k: v for k, v in asked.items() if k != "type"}, "text.format")
    return 0


def _messages(body: dict[str, Any]) -> int:
    config = body.get("output_config", {})
    need(not config.keys() - {"format", "effort"}, "output_config: Extra inputs are not permitted")
    asked = config.get("format")
    if asked is None:
        return 0
    need(asked.keys() == {"type", "schema"}, "output_config.format: Extra inputs or too few")
    need(asked["type"] == "json_schema", "output_config.format.type: must be json_schema")
    last = body.get("messages") or [{}]
    need(last[-1].get("role") != "assistant", "output_config.format: prefilling is not supported")
    return anthropic_strict(asked["schema"])


_FORMATS: dict[Protocol, Callable[[dict[str, Any]], int]] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
}
