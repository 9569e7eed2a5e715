"""OpenAI Chat Completions without a transport: the mapping of requests.

Source: OpenAI's API reference (create chat completion).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attachments import chat_part, parts_of
from artificer.providers.chat_stream import EXTRA, EXTRAS, ChatStream
from artificer.providers.dialects import NESTED_REASONING, ChatDialect
from artificer.providers.mapping import (
    arguments_text,
    filled,
    result_text,
    wire_id,
)
from artificer.providers.options import (
    headers_of,
    options,
    results_first,
    system_text,
    wire_format,
    with_extra,
)
from artificer.providers.wire_tools import WireTool, WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    AttachedBlock,
    Message,
    ReasoningBlock,
    ToolResultBlock,
    user,
)
from artificer.values.text import well_formed

__all__ = ["ChatDialect", "ChatStream", "prepare_request"]


def prepare_request(
    request: ModelRequest, messages: Sequence[Message], memo: Memo, dialect: ChatDialect
) -> PreparedRequest:
    """Map a request. The system prompt is the first item, and keeps its place in the memo."""
    tools = WireTools(request.tools, strict=dialect.strict)
    system = user(system_text(request, dialect))

    def to_wire(message: Message) -> list[JsonObject]:
        if message is system:
            return [{"role": "system", "content": system.text}]
        if message.role == "user":
            return results_first(
                message,
                lambda it: _result(it, dialect),
                _user_item,
                _attached(message, dialect),
            )
        return [_assistant_item(message, tools, dialect)]

    everything = [system, *messages] if system.text else messages
    return PreparedRequest(
        fields=memo.fields(request, lambda it: _body(it, tools, dialect), dialect),
        key="messages",
        items=memo.items((dialect.tag, system.text, request.tools), everything, to_wire),
        tools=request.tools,
        headers=headers_of(request),
    )


def _body(request: ModelRequest, tools: WireTools, dialect: ChatDialect) -> JsonObject:
    """Return the body without the messages. Unset members are left out."""
    body: JsonObject = {
        "model": request.model,
        dialect.max_tokens_key: request.max_tokens,
        "stream": True,
        **dialect.extra,
    }
    if dialect.include_usage:
        body["stream_options"] = {"include_usage": True}
    if wire := wire_format(request, dialect):
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": wire.name,
                "schema": wire.schema,
                "strict": wire.strict,
            },
        }
    if dialect.caches and request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    choose = _choice if dialect.names_tools else _mode
    body |= options(request, tools, _tool, choose)
    _add_settings(body, request, dialect)
    return with_extra(body, request)


def _add_settings(body: JsonObject, request: ModelRequest, dialect: ChatDialect) -> None:
    """Add the settings that only this protocol names so."""
    settings = request.settings
    if settings.stop:
        there = body.get("stop")
        body["stop"] = [*(there if isinstance(there, list) else []), *settings.stop]
    if settings.seed is not None:
        body[dialect.seed_key] = settings.seed
    if settings.reasoning is None:
        return
    if dialect.effort_key == NESTED_REASONING:
        tokens = isinstance(settings.reasoning, int)
        body["reasoning"] = {"max_tokens" if tokens else "effort": settings.reasoning}
    else:
        body[dialect.effort_key] = settings.reasoning


def _tool(wire: WireTool) -> JsonObject:
    function: JsonObject = {
        "name": wire.name,
        "description": wire.description,
        "parameters": wire.schema,
    }
    if wire.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _choice(mode: str, name: str | None) -> JsonValue:
    if name is not None:
        return {"type": "function", "function": {"name": name}}
    return _mode(mode, None)


def _mode(mode: str, name: str | None) -> JsonValue:
    return "required" if mode == "tool" else mode


def _result(block: ToolResultBlock, dialect: ChatDialect) -> JsonObject:
    return {
        "role": "tool",
        "tool_call_id": wire_id(block.tool_use_id, dialect.id_length),
        "content": result_text(block),
    }


def _attached(message: Message, dialect: ChatDialect) -> list[JsonObject]:
    """Return the parts of all attachments. A tool's result is text: its own follow the results."""
    parts: list[JsonObject] = []
    for block in message.blocks:
        if isinstance(block, ToolResultBlock) and block.attachments:
            call = wire_id(block.tool_use_id, dialect.id_length)
            parts.append(_text(f"Attached to the result of {call}:"))
            parts += _parts(block.attachments, dialect)
    return parts + _parts(message.attachments, dialect)


def _parts(blocks: Sequence[AttachedBlock], dialect: ChatDialect) -> list[JsonObject]:
    return parts_of(blocks, lambda block: chat_part(block, dialect), _text)


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _user_item(text: str, attached: Sequence[JsonObject]) -> JsonObject:
    """Return a user's message: a plain text, unless it holds more than texts."""
    if not attached:
        return {"role": "user", "content": filled(text)}
    parts = [*attached, *([_text(well_formed(text))] if text.strip() else [])]
    texts = [part.get("text") for part in parts]
    plain = [part for part in texts if isinstance(part, str)]
    if len(plain) == len(parts):
        return {"role": "user", "content": "\n\n".join(plain)}
    return {"role": "user", "content": list(parts)}


def _assistant_item(message: Message, tools: WireTools, dialect: ChatDialect) -> JsonObject:
    says_something = bool(message.text.strip()) or not message.calls
    item: JsonObject = {
        "role": "assistant",
        "content": filled(message.text) if says_something else None,
    }
    calls: list[JsonObject] = [
        {
            "id": wire_id(call.id, dialect.id_length),
            "type": "function",
            "function": {
                "name": tools.names.to_wire(call.name),
                "arguments": arguments_text(call.arguments),
            },
        }
        for call in message.calls
    ]
    if calls:
        item["tool_calls"] = list(calls)
    for block in message.blocks:
        if isinstance(block, ReasoningBlock) and block.provider == dialect.tag:
            reasoning = json.loads(block.data)
            for call, extra in zip(calls, reasoning.pop(EXTRAS, ()), strict=False):
                if extra:
                    call[EXTRA] = extra
            if dialect.returns_reasoning:
                item.update(reasoning)
    return item
