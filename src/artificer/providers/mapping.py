"""Identifiers, arguments and texts, mapped the same way for all protocols."""

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
"""Replaces an empty message or result, because providers refuse empty ones."""

UNPARSABLE = "unparsable_arguments"
"""The one member that carries arguments which are not a JSON object back to the model."""

_WIRE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")

NewId = Callable[[], str]


def fresh_id() -> str:
    """Return an id for a call without one."""
    return f"call_{uuid.uuid4().hex[:24]}"


def wire_id(call_id: str, length: int = 0) -> str:
    """Return the id in a form that every provider accepts, the same for the same id.

    Anthropic requires ``^[a-zA-Z0-9_-]+$``, OpenAI at most 40 characters (both by error messages).
    Mistral requires exactly 9 letters and digits: with a ``length``, the id has it.
    """
    if length and call_id.isascii() and call_id.isalnum() and len(call_id) == length:
        return call_id
    if not length and _WIRE_ID.match(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:length] if length else "call_" + digest[:32]


def filled(text: str) -> str:
    """Return a text that may be sent: well-formed and not blank."""
    return well_formed(text) if text.strip() else EMPTY_TURN


def arguments_object(raw: str) -> JsonObject:
    """Return raw arguments as an object, for any text.

    Anthropic refuses an ``input`` that is not an object, and chat templates of llama.cpp parse
    ``arguments``. A text that is not an acceptable JSON object is wrapped, never lost.
    """
    parsed = parse_object(raw)
    return parsed if isinstance(parsed, dict) else {UNPARSABLE: well_formed(raw)}


def arguments_text(raw: str) -> str:
    """Return raw arguments as the text of a JSON object, unchanged if they are one."""
    if raw.strip() and isinstance(parse_object(raw), dict):
        return raw
    return json.dumps(arguments_object(raw), ensure_ascii=False)


def result_text(block: ToolResultBlock) -> str:
    """Return a tool result for protocols without an error flag; it begins with the status."""
    return (
        f"[{block.status}] {well_formed(block.content)}"
        if block.is_error
        else filled(block.content)
    )


def text_of(value: JsonValue) -> str:
    """Return a wire value as text. Servers send a string, a list of parts, or null."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
    return ""


def raw_arguments(value: JsonValue) -> str:
    """Return a call's arguments as text. Some servers send an object or null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


MAX_COUNT = 10**12
"""Largest token count that is accepted from a provider."""


def count_of(value: object, *path: str) -> int:
    """Return the token count at a path of members, or 0."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return min(value, MAX_COUNT) if type(value) is int and value > 0 else 0
