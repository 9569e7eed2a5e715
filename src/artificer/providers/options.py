"""What the requests and conversations of the protocols have in common, but for its spelling."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from artificer.contracts.definition import ModelRequest
from artificer.contracts.strict_dialect import StrictDialect
from artificer.contracts.strict_schema import StrictSchema, strict
from artificer.providers.dialects import Dialect
from artificer.providers.wire_tools import WireTool, WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import Message, ToolResultBlock
from artificer.values.text import well_formed


def options(
    request: ModelRequest,
    tools: WireTools,
    write: Callable[[WireTool], JsonObject],
    choose: Callable[[str, str | None], JsonValue],
) -> JsonObject:
    """``temperature``, ``tools`` and ``tool_choice``; unset members are left out.

    ``write`` spells a tool, ``choose`` a mode with the tool's name where it demands one.
    """
    members: JsonObject = {}
    if request.temperature is not None:
        members["temperature"] = request.temperature
    if request.tools:
        choice = request.tool_choice
        name = tools.names.to_wire(choice.name) if choice.mode == "tool" and choice.name else None
        members["tools"] = [write(tools.wire(tool)) for tool in request.tools]
        members["tool_choice"] = choose(choice.mode, name)
    return members


@dataclass(frozen=True)
class WireFormat:
    """A response format as a server is held to it. ``optional`` counts optional properties."""

    name: str
    schema: JsonObject
    strict: bool
    optional: int


def wire_format(request: ModelRequest, dialect: Dialect) -> WireFormat | None:
    """The response format that a server can be held to, or None where it can only be told.

    A server with a strict mode is held to nothing that this mode cannot express.
    """
    asked = request.response_format
    if asked is None or not dialect.formats:
        return None
    if dialect.strict is None:
        return WireFormat(asked.name, asked.to_schema(), strict=False, optional=0)
    derived = _derived(asked.json_schema, dialect.strict)
    if not derived.fits:
        return None
    return WireFormat(asked.name, derived.schema, strict=True, optional=derived.optional)


@lru_cache(maxsize=64)
def _derived(schema: str, dialect: StrictDialect) -> StrictSchema:
    return strict(json.loads(schema), dialect)


def system_text(request: ModelRequest, dialect: Dialect) -> str:
    """The system prompt; it tells the response format to who is not held to it. May be empty."""
    parts = [request.system] if request.system.strip() else []
    asked = request.response_format
    if asked is not None and wire_format(request, dialect) is None:
        parts.append(
            "Your last reply, the one without tool calls, must be one JSON value that fits this "
            "JSON Schema, with no word and no code fence around it:\n" + asked.json_schema
        )
    return well_formed("\n\n".join(parts))


def with_member(rest: JsonObject, name: str, **members: JsonValue) -> None:
    """Put members into the object that is a member of a body, beside what is there."""
    there = rest.get(name)
    rest[name] = {**(there if isinstance(there, dict) else {}), **members}


def results_first(
    message: Message,
    result: Callable[[ToolResultBlock], JsonObject],
    said: Callable[[str], JsonObject],
) -> list[JsonObject]:
    """A user's message as items: its results, right after their calls, then what the user wrote."""
    items = [result(block) for block in message.blocks if isinstance(block, ToolResultBlock)]
    if message.text.strip() or not items:
        items.append(said(message.text))
    return items
