"""Anthropic Messages without a transport: the mapping of requests.

Source: Anthropic's API reference (create a message, tool use, extended thinking, errors).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attachments import messages_part, parts_of
from artificer.providers.dialects import MessagesDialect
from artificer.providers.mapping import (
    EMPTY_TURN,
    arguments_object,
    filled,
    wire_id,
)
from artificer.providers.messages_stream import MessagesStream
from artificer.providers.options import (
    headers_of,
    options,
    system_text,
    wire_format,
    with_extra,
    with_member,
)
from artificer.providers.wire_tools import WireTool, WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    AttachedBlock,
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.text import well_formed

__all__ = ["MessagesDialect", "MessagesStream", "prepare_request"]


def prepare_request(
    request: ModelRequest, messages: Sequence[Message], memo: Memo, dialect: MessagesDialect
) -> PreparedRequest:
    """Map a request. Each message is one item; the system prompt stands apart."""
    response_format = wire_format(request, dialect)
    taken = response_format.optional if response_format else 0
    tools = WireTools(request.tools, strict=dialect.strict, optional=taken)
    return PreparedRequest(
        fields=memo.fields(request, lambda it: _body(it, tools, dialect), dialect),
        key="messages",
        items=memo.items(
            (dialect.tag, request.tools), messages, lambda it: [_item(it, tools, dialect)]
        ),
        tools=request.tools,
        headers=headers_of(request),
    )


def _body(request: ModelRequest, tools: WireTools, dialect: MessagesDialect) -> JsonObject:
    """Return the body without the messages. Unset members are left out."""
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": True,
        **dialect.extra,
    }
    if system := system_text(request, dialect):
        body["system"] = system
    if wire := wire_format(request, dialect):
        with_member(body, "output_config", format={"type": "json_schema", "schema": wire.schema})
    body |= options(request, tools, _tool, _choice)
    if request.settings.stop:
        body["stop_sequences"] = list(request.settings.stop)
    _add_thinking(body, request)
    body = with_extra(body, request)
    return _marked(body) if dialect.caches and request.cache_key else body


LEAST_THINKING = 1_024
"""The API refuses a smaller budget."""


def _add_thinking(body: JsonObject, request: ModelRequest) -> None:
    """Add the reasoning. A budget is part of ``max_tokens`` and leaves room for the reply.

    "Thinking may not be enabled when tool_choice forces tool use": such a request goes without.
    """
    reasoning = request.settings.reasoning
    if isinstance(reasoning, str):
        with_member(body, "output_config", effort=reasoning)
    if reasoning is None or (request.tools and request.tool_choice.mode in ("required", "tool")):
        return
    if isinstance(reasoning, str):
        body["thinking"] = {"type": "adaptive"}
    elif (budget := min(reasoning, request.max_tokens * 3 // 4)) >= LEAST_THINKING:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}


_MARK: JsonObject = {"cache_control": {"type": "ephemeral"}}


def _marked(body: JsonObject) -> JsonObject:
    """Mark the parts to cache: the tools, the system prompt, and everything up to the last message.

    These are three of four possible marks. The mark at the top level applies to the last block and
    moves with the conversation; a mark inside a message would change text that was sent before.
    """
    system, tools = body.get("system"), body.get("tools")
    if isinstance(system, str):
        body["system"] = [{**_text(system), **_MARK}]
    if isinstance(tools, list) and isinstance(tools[-1], dict):
        body["tools"] = [*tools[:-1], {**tools[-1], **_MARK}]
    return body | _MARK


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


def _item(message: Message, tools: WireTools, dialect: MessagesDialect) -> JsonObject:
    content = (
        _user_content(message, dialect)
        if message.role == "user"
        else _assistant_content(message, tools, dialect.tag)
    )
    return {"role": message.role, "content": content or [_text(EMPTY_TURN)]}


def _user_content(message: Message, dialect: MessagesDialect) -> list[JsonValue]:
    """Return tool results first, because Anthropic refuses a result after a text.

    Attachments of an error follow the results ("all content must be type `text` if `is_error`").
    """
    results: list[JsonValue] = []
    others: list[JsonValue] = []
    for block in message.blocks:
        if isinstance(block, ToolResultBlock):
            attached = _parts(block.attachments, dialect)
            results.append(_result(block, [] if block.is_error else attached))
            others += attached if block.is_error else []
        elif isinstance(block, AttachedBlock):
            others += _parts((block,), dialect)
        else:
            others += _texts((block,))
    return results + others


def _result(block: ToolResultBlock, attached: list[JsonObject]) -> JsonObject:
    content: JsonValue = filled(block.content)
    return {
        "type": "tool_result",
        "tool_use_id": wire_id(block.tool_use_id),
        # An empty error result is refused ("content cannot be empty if is_error is true").
        "content": [_text(filled(block.content)), *attached] if attached else content,
        "is_error": block.is_error,
    }


def _parts(blocks: Sequence[AttachedBlock], dialect: MessagesDialect) -> list[JsonObject]:
    return parts_of(blocks, lambda block: messages_part(block, dialect), _text)


def _assistant_content(message: Message, tools: WireTools, tag: str) -> list[JsonValue]:
    """Return the blocks in order, with this provider's own reasoning.

    Reasoning at the very end, as in a cut reply, is left out: "the final block in an assistant
    message cannot be `thinking`".
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
    """Return the non-blank texts: "text content blocks must contain non-whitespace text"."""
    return [
        _text(well_formed(block.text))
        for block in blocks
        if isinstance(block, TextBlock) and block.text.strip()
    ]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
