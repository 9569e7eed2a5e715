"""OpenAI Responses without a transport: the mapping of a request, and its stream.

The conversation is kept here, never there (``store`` is false): every request carries all items,
reasoning in its encrypted form. Source: OpenAI's API reference (create a response) and guide to
reasoning models (encrypted reasoning items).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attachments import parts_of, responses_part
from artificer.providers.dialects import ResponsesDialect
from artificer.providers.mapping import (
    arguments_text,
    filled,
    result_text,
    wire_id,
)
from artificer.providers.options import (
    WireFormat,
    headers_of,
    options,
    results_first,
    system_text,
    wire_format,
    with_extra,
    with_member,
)
from artificer.providers.responses_stream import ResponsesStream
from artificer.providers.wire_tools import WireTool, WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    AttachedBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.text import well_formed

__all__ = ["ResponsesDialect", "ResponsesStream", "prepare_request"]

MIN_OUTPUT_TOKENS = 16
"""The API refuses a smaller ``max_output_tokens``."""

_WITHOUT_REASONING = ("gpt-3", "gpt-4", "chatgpt-4")
"""Families of models that refuse to be response_format for encrypted reasoning."""


def prepare_request(
    request: ModelRequest, messages: Sequence[Message], memo: Memo, dialect: ResponsesDialect
) -> PreparedRequest:
    """Map a request. Each block is its own item."""
    tools = WireTools(request.tools, strict=dialect.strict)

    def to_wire(message: Message) -> list[JsonObject]:
        if message.role == "user":
            return results_first(
                message,
                lambda block: _result(block, dialect),
                _user_item,
                _parts(message.attachments, dialect),
            )
        return _assistant_items(message, tools, dialect.tag)

    return PreparedRequest(
        fields=memo.fields(request, lambda it: _body(it, tools, dialect), dialect),
        key="input",
        items=memo.items((dialect.tag, request.tools), messages, to_wire),
        tools=request.tools,
        headers=headers_of(request),
    )


def _body(request: ModelRequest, tools: WireTools, dialect: ResponsesDialect) -> JsonObject:
    """Return the body without the items. Unset members are left out."""
    body: JsonObject = {
        "model": request.model,
        "max_output_tokens": max(MIN_OUTPUT_TOKENS, request.max_tokens),
        "store": False,
        "stream": True,
        **dialect.extra,
    }
    if not request.model.startswith(_WITHOUT_REASONING):
        body["include"] = ["reasoning.encrypted_content"]
    if system := system_text(request, dialect):
        body["instructions"] = system
    if response_format := wire_format(request, dialect):
        with_member(body, "text", format={"type": "json_schema", **_format(response_format)})
    if dialect.caches and request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    if request.settings.reasoning is not None:
        with_member(body, "reasoning", effort=request.settings.reasoning)
    return with_extra(body | options(request, tools, _tool, _choice), request)


def _format(wire: WireFormat) -> JsonObject:
    return {
        "name": wire.name,
        "schema": wire.schema,
        "strict": wire.strict,
    }


def _tool(wire: WireTool) -> JsonObject:
    """Return a tool. ``strict`` is always set, because the API's default is true."""
    return {
        "type": "function",
        "name": wire.name,
        "description": wire.description,
        "parameters": wire.schema,
        "strict": wire.strict,
    }


def _choice(mode: str, name: str | None) -> JsonValue:
    if name is not None:
        return {"type": "function", "name": name}
    return "required" if mode == "tool" else mode


def _result(block: ToolResultBlock, dialect: ResponsesDialect) -> JsonObject:
    output: JsonValue = result_text(block)
    if block.attachments:
        output = [_input_text(result_text(block)), *_parts(block.attachments, dialect)]
    return {
        "type": "function_call_output",
        "call_id": wire_id(block.tool_use_id),
        "output": output,
    }


def _parts(blocks: Sequence[AttachedBlock], dialect: ResponsesDialect) -> list[JsonObject]:
    return parts_of(blocks, lambda block: responses_part(block, dialect), _input_text)


def _input_text(text: str) -> JsonObject:
    return {"type": "input_text", "text": text}


def _user_item(text: str, attached: Sequence[JsonObject]) -> JsonObject:
    if not attached:
        return _message("user", "input_text", text)
    content = [*attached, *([_input_text(well_formed(text))] if text.strip() else [])]
    return {"type": "message", "role": "user", "content": list(content)}


def _assistant_items(message: Message, tools: WireTools, tag: str) -> list[JsonObject]:
    """Return the blocks in order, with this provider's own reasoning.

    Reasoning at the very end is left out: it "was provided without its required following item".
    """
    items: list[JsonObject] = []
    pending: list[JsonObject] = []
    for block in message.blocks:
        if isinstance(block, ReasoningBlock):
            if block.provider == tag:
                pending.append(json.loads(block.data))
        elif isinstance(block, ToolUseBlock):
            items += [*pending, _call(block, tools)]
            pending = []
        elif isinstance(block, TextBlock) and block.text.strip():
            items += [*pending, _message("assistant", "output_text", block.text)]
            pending = []
    return items or [_message("assistant", "output_text", "")]


def _call(block: ToolUseBlock, tools: WireTools) -> JsonObject:
    return {
        "type": "function_call",
        "call_id": wire_id(block.id),
        "name": tools.names.to_wire(block.name),
        "arguments": arguments_text(block.arguments),
    }


def _message(role: str, kind: str, text: str) -> JsonObject:
    content: JsonObject = {"type": kind, "text": filled(text)}
    return {"type": "message", "role": role, "content": [content]}
