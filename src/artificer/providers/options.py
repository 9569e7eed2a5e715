"""What the requests and conversations of the protocols have in common, but for its spelling."""

from __future__ import annotations

from collections.abc import Callable

from artificer.contracts.definition import ModelRequest
from artificer.providers.wire_tools import WireTool, WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import Message, ToolResultBlock


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
