"""What the mappings of all protocols share: identifiers, arguments, texts that may be sent."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable

from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import ToolResultBlock
from artificer.values.strict_json import parse_object
from artificer.values.text import well_formed

EMPTY_TURN = "(empty)"
"""Stands for a message or a result without a word: providers refuse empty ones."""

UNPARSABLE = "unparsable_arguments"
"""The one member under which arguments that are no JSON object travel back to the model."""

_WIRE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")

NewId = Callable[[], str]


def fresh_id() -> str:
    """Return an id for a call that came without one."""
    return f"call_{uuid.uuid4().hex[:24]}"


def wire_id(call_id: str) -> str:
    """Return the id as every provider accepts it, always the same for the same id.

    Anthropic demands ``^[a-zA-Z0-9_-]+$``, OpenAI at most 40 characters (error messages of both).
    """
    if _WIRE_ID.match(call_id):
        return call_id
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def filled(text: str) -> str:
    """Return a text that may be sent: well-formed, and not blank."""
    return well_formed(text) if text.strip() else EMPTY_TURN


def arguments_object(raw: str) -> JsonObject:
    """Return raw arguments as an object, whatever the model wrote.

    Anthropic refuses an ``input`` that is no object, and chat templates of llama.cpp parse
    ``arguments``: a text that is no acceptable JSON object is wrapped, never lost.
    """
    parsed = parse_object(raw)
    return parsed if isinstance(parsed, dict) else {UNPARSABLE: well_formed(raw)}


def arguments_text(raw: str) -> str:
    """Return raw arguments as the text of a JSON object; text that is one already is unchanged."""
    if raw.strip() and isinstance(parse_object(raw), dict):
        return raw
    return json.dumps(arguments_object(raw), ensure_ascii=False)


def result_text(block: ToolResultBlock) -> str:
    """Return a tool result's text for protocols that have no error flag: the status leads."""
    return (
        f"[{block.status}] {well_formed(block.content)}"
        if block.is_error
        else filled(block.content)
    )


def text_of(value: JsonValue) -> str:
    """Return a wire value as text, where servers disagree: string, list of parts, or null."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
    return ""


def raw_arguments(value: JsonValue) -> str:
    """Return a call's arguments as text, where some servers send an object or null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


MOST_COUNTED = 10**12
"""Most tokens that a provider is believed to have counted."""


def count_of(value: object, *path: str) -> int:
    """Return the token count at a path of members, 0 where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return min(value, MOST_COUNTED) if type(value) is int and value > 0 else 0
