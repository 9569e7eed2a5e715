"""Anthropic Messages without a transport: how a request is mapped; its stream beside it.

Source: Anthropic's API reference (create a message, tool use, extended thinking, errors).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, Payload
from artificer.providers.dialects import MessagesDialect
from artificer.providers.mapping import (
    EMPTY_TURN,
    arguments_object,
    filled,
    wire_id,
)
from artificer.providers.messages_stream import MessagesStream
from artificer.providers.options import options, system_text, wire_format, with_member
from artificer.providers.wire_tools import WireTool, WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.text import well_formed

__all__ = ["MessagesDialect", "MessagesStream", "to_payload"]


def to_payload(
    request: ModelRequest, messages: Sequence[Message], memo: Memo, dialect: MessagesDialect
) -> Payload:
    """Map a request. Each message is one item; the system prompt stands apart."""
    asked = wire_format(request, dialect)
    taken = asked.optional if asked else 0
    tools = WireTools(request.tools, strict=dialect.strict, optional=taken)
    return Payload(
        rest=memo.rest(request, lambda it: _rest(it, tools, dialect)),
        key="messages",
        items=memo.items(
            (dialect.tag, request.tools), messages, lambda it: [_item(it, tools, dialect.tag)]
        ),
        tools=request.tools,
    )


def _rest(request: ModelRequest, tools: WireTools, dialect: MessagesDialect) -> JsonObject:
    """Return all but the messages. Unset members are left out."""
    rest: JsonObject = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": True,
        **dialect.extra,
    }
    if system := system_text(request, dialect):
        rest["system"] = system
    if asked := wire_format(request, dialect):
        with_member(rest, "output_config", format={"type": "json_schema", "schema": asked.schema})
    rest |= options(request, tools, _tool, _choice)
    return _marked(rest) if dialect.caches and request.cache_key else rest


_MARK: JsonObject = {"cache_control": {"type": "ephemeral"}}


def _marked(rest: JsonObject) -> JsonObject:
    """Mark what is to be kept: the tools, the system prompt, and all up to the last message.

    That is three of four possible marks. The one at the top stands for the last block, and moves
    on with the conversation; a mark inside a message would change what was sent before.
    """
    system, tools = rest.get("system"), rest.get("tools")
    if isinstance(system, str):
        rest["system"] = [{**_text(system), **_MARK}]
    if isinstance(tools, list) and isinstance(tools[-1], dict):
        rest["tools"] = [*tools[:-1], {**tools[-1], **_MARK}]
    return rest | _MARK


def _tool(wire: WireTool) -> JsonObject:
    item: JsonObject = {
        "name": wire.name,
        "description": wire.description,
        "input_schema": wire.schema,
    }
    if wire.strict:
        item["strict"] = True
    return item


def _choice(mode: str, name: str | None) -> JsonObject:
    if name is not None:
        return {"type": "tool", "name": name}
    return {"type": mode if mode in ("auto", "none") else "any"}


def _item(message: Message, tools: WireTools, tag: str) -> JsonObject:
    content = (
        _user_content(message)
        if message.role == "user"
        else _assistant_content(message, tools, tag)
    )
    return {"role": message.role, "content": content or [_text(EMPTY_TURN)]}


def _user_content(message: Message) -> list[JsonValue]:
    """Tool results first: Anthropic refuses a result that follows a text."""
    results: list[JsonValue] = [
        {
            "type": "tool_result",
            "tool_use_id": wire_id(block.tool_use_id),
            # An empty error result is refused ("content cannot be empty if is_error is true").
            "content": filled(block.content),
            "is_error": block.is_error,
        }
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]
    return results + _texts(message.blocks)


def _assistant_content(message: Message, tools: WireTools, tag: str) -> list[JsonValue]:
    """The blocks in their order, with the reasoning that is this provider's own.

    Reasoning at the very end is left out: "the final block in an assistant message cannot be
    `thinking`". It stands there when a reply was cut.
    """
    content: list[JsonValue] = []
    pending: list[JsonValue] = []
    for block in message.blocks:
        if isinstance(block, ReasoningBlock):
            if block.provider == tag:
                pending.append(json.loads(block.data))
            continue
        wire = _call(block, tools) if isinstance(block, ToolUseBlock) else None
        for item in [wire] if wire else _texts((block,)):
            content += [*pending, item]
            pending = []
    return content


def _call(block: ToolUseBlock, tools: WireTools) -> JsonObject:
    return {
        "type": "tool_use",
        "id": wire_id(block.id),
        "name": tools.names.to_wire(block.name),
        "input": arguments_object(block.arguments),
    }


def _texts(blocks: Sequence[Block]) -> list[JsonValue]:
    """The texts that hold something: "text content blocks must contain non-whitespace text"."""
    return [
        _text(well_formed(block.text))
        for block in blocks
        if isinstance(block, TextBlock) and block.text.strip()
    ]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
