"""Parts of requests and conversations that differ between protocols only in spelling."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
    """Return the settings that all protocols name alike, ``tools`` and ``tool_choice``.

    Unset members are left out.

    ``write`` formats a tool, ``choose`` a mode, with the tool's name if the mode requires one.
    """
    members: JsonObject = {}
    if request.temperature is not None:
        members["temperature"] = request.temperature
    if request.settings.top_p is not None:
        members["top_p"] = float(request.settings.top_p)
    if request.settings.service_tier:
        members["service_tier"] = request.settings.service_tier
    if request.tools:
        choice = request.tool_choice
        name = tools.names.to_wire(choice.name) if choice.mode == "tool" and choice.name else None
        members["tools"] = [write(tools.wire(tool)) for tool in request.tools]
        members["tool_choice"] = choose(choice.mode, name)
    return members


@dataclass(frozen=True)
class WireFormat:
    """A response format for a server that enforces it. ``optional`` counts optional properties."""

    name: str
    schema: JsonObject
    strict: bool
    optional: int


def wire_format(request: ModelRequest, dialect: Dialect) -> WireFormat | None:
    """Return the response format that the server can enforce, or None if it can only be described.

    A server with a strict mode enforces only formats that this mode can express.
    """
    response_format = request.response_format
    if response_format is None or not dialect.formats:
        return None
    if dialect.strict is None:
        return WireFormat(
            response_format.name, response_format.to_schema(), strict=False, optional=0
        )
    derived = _derived(response_format.json_schema, dialect.strict)
    if not derived.fits:
        return None
    return WireFormat(response_format.name, derived.schema, strict=True, optional=derived.optional)


@lru_cache(maxsize=64)
def _derived(schema: str, dialect: StrictDialect) -> StrictSchema:
    return strict(json.loads(schema), dialect)


def system_text(request: ModelRequest, dialect: Dialect) -> str:
    """Return the system prompt, with the response format if the server cannot enforce it."""
    parts = [request.system] if request.system.strip() else []
    response_format = request.response_format
    if response_format is not None and wire_format(request, dialect) is None:
        parts.append(
            "Your last reply, the one without tool calls, must be one JSON value that fits this "
            "JSON Schema, with no word and no code fence around it:\n" + response_format.json_schema
        )
    return well_formed("\n\n".join(parts))


def with_member(body: JsonObject, name: str, **members: JsonValue) -> None:
    """Add members to an object inside a body, keeping its other members."""
    there = body.get(name)
    body[name] = {**(there if isinstance(there, dict) else {}), **members}


def with_extra(body: JsonObject, request: ModelRequest) -> JsonObject:
    """Return a body with the caller's own members, merged into it last."""
    return _merged(body, request.settings.extra_body) if request.settings.body else body


def _merged(body: JsonObject, extra: JsonObject) -> JsonObject:
    merged = dict(body)
    for name, value in extra.items():
        before = merged.get(name)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[name] = _merged(before, value) if both else value  # type: ignore[arg-type]
    return merged


def headers_of(request: ModelRequest) -> Mapping[str, str] | None:
    """Return the caller's own headers, with references to secrets."""
    return request.settings.extra_headers or None


def results_first(
    message: Message,
    result: Callable[[ToolResultBlock], JsonObject],
    to_item: Callable[[str, Sequence[JsonObject]], JsonObject],
    attached: Sequence[JsonObject] = (),
) -> list[JsonObject]:
    """Return a user's message as items: results right after their calls, then the user's text.

    ``attached`` are the parts that go with the text.
    """
    items = [result(block) for block in message.blocks if isinstance(block, ToolResultBlock)]
    if message.text.strip() or attached or not items:
        items.append(to_item(message.text, attached))
    return items
