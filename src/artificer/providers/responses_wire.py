"""OpenAI Responses, as pure functions: the request's body, and the stream's events.

The conversation is kept here, never there (``store`` is false): every request carries all items,
reasoning in its encrypted form. Source: OpenAI's API reference (responses, streaming events,
"Reasoning models: encrypted reasoning items") and llama.cpp's behaviour on the wire.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.contracts.strict_schema import StrictDialect
from artificer.ports import Memo, Payload
from artificer.providers.assembler import ReplyStream
from artificer.providers.failures import classify, failure
from artificer.providers.mapping import (
    NewId,
    arguments_text,
    call_block,
    clean,
    count_of,
    filled,
    fresh_id,
    raw_arguments,
    result_text,
    text_of,
    wire_id,
)
from artificer.providers.wire_tools import WireTools
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    ModelReply,
    StopReason,
    TextDelta,
    Usage,
)
from artificer.values.strict_json import parse_object

MIN_OUTPUT_TOKENS = 16
"""The API refuses a smaller ``max_output_tokens``."""

_WITHOUT_REASONING = ("gpt-3", "gpt-4", "chatgpt-4")
"""Families of models that refuse to be asked for encrypted reasoning."""


@dataclass(frozen=True)
class ResponsesDialect:
    """What differs between servers that speak Responses.

    ``provider`` tags the reasoning blocks; ``extra`` are further members of every request, such
    as ``reasoning``.
    """

    provider: str
    strict: StrictDialect | None = None
    extra: JsonObject = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What marks a reasoning block as this provider's, on this wire."""
        return f"{self.provider}/responses"


# --- the request ------------------------------------------------------------------------------


def to_payload(
    request: ModelRequest, messages: Sequence[Message], memo: Memo, dialect: ResponsesDialect
) -> Payload:
    """Map a request. Each block is an item of its own."""
    tools = WireTools(request.tools, strict=dialect.strict)

    def to_wire(message: Message) -> list[JsonObject]:
        if message.role == "user":
            return _user_items(message)
        return _assistant_items(message, tools, dialect.tag)

    return Payload(
        rest=memo.rest(request, lambda it: _rest(it, tools, dialect)),
        key="input",
        items=memo.items((dialect.tag, request.tools), messages, to_wire),
        tools=request.tools,
    )


def _rest(request: ModelRequest, tools: WireTools, dialect: ResponsesDialect) -> JsonObject:
    """Return all but the items. Unset members are left out."""
    rest: JsonObject = {
        "model": request.model,
        "max_output_tokens": max(MIN_OUTPUT_TOKENS, request.max_tokens),
        "store": False,
        "stream": True,
        **dialect.extra,
    }
    if not request.model.startswith(_WITHOUT_REASONING):
        rest["include"] = ["reasoning.encrypted_content"]
    if request.system.strip():
        rest["instructions"] = clean(request.system)
    if request.temperature is not None:
        rest["temperature"] = request.temperature
    if request.tools:
        rest["tools"] = [_tool(tool, tools) for tool in request.tools]
        rest["tool_choice"] = _tool_choice(request, tools)
    return rest


def _tool(tool: ToolDefinition, tools: WireTools) -> JsonObject:
    """``strict`` is always said: left out, the API takes it for true."""
    wire = tools.wire(tool)
    return {
        "type": "function",
        "name": wire.name,
        "description": wire.description,
        "parameters": wire.schema,
        "strict": wire.strict,
    }


def _tool_choice(request: ModelRequest, tools: WireTools) -> JsonValue:
    choice = request.tool_choice
    if choice.mode == "tool" and choice.name is not None:
        return {"type": "function", "name": tools.names.to_wire(choice.name)}
    return "required" if choice.mode == "tool" else choice.mode


def _user_items(message: Message) -> list[JsonObject]:
    items: list[JsonObject] = [
        {
            "type": "function_call_output",
            "call_id": wire_id(block.tool_use_id),
            "output": result_text(block),
        }
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]
    if message.text.strip() or not items:
        items.append(_message("user", "input_text", message.text))
    return items


def _assistant_items(message: Message, tools: WireTools, tag: str) -> list[JsonObject]:
    """The blocks in their order, with the reasoning that is this provider's own.

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


# --- the reply --------------------------------------------------------------------------------


class ResponsesStream(ReplyStream):
    """Assembles a reply from parsed Responses events.

    The reply is what the final event holds. The events before it feed the live view, keyed by
    item id since llama.cpp sends no indexes; its finished items stand in where the final event
    comes without output. ``max_output_tokens`` is the request's.
    """

    def __init__(
        self,
        dialect: ResponsesDialect,
        tools: Sequence[ToolDefinition],
        max_output_tokens: int,
        new_id: NewId = fresh_id,
    ) -> None:
        super().__init__()
        self._tag = dialect.tag
        self._tools = WireTools(tools, strict=dialect.strict)
        self._max_output_tokens = max_output_tokens
        self._new_id = new_id
        self._calls: dict[str, str] = {}
        self._items: list[JsonValue] = []
        self._final: JsonObject | None = None

    @property
    def complete(self) -> bool:
        """Whether the final event has come."""
        return self._final is not None

    def _take(self, event: JsonObject) -> list[Delta]:
        kind, item = text_of(event.get("type")), event.get("item")
        piece = text_of(event.get("delta"))
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            return [TextDelta(text=clean(piece))] if self._counted(piece) else []
        if kind == "response.function_call_arguments.delta":
            return self._arguments(event, piece) if self._counted(piece) else []
        if kind == "response.output_item.added" and isinstance(item, dict):
            if item.get("type") == "function_call" and self._has_room(len(self._calls)):
                self._calls[text_of(item.get("id"))] = text_of(item.get("name"))
        elif kind == "response.output_item.done" and isinstance(item, dict):
            if self._has_room(len(self._items)):
                self._items.append(item)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            response = event.get("response")
            self._final = response if isinstance(response, dict) else {}
        elif kind == "error":
            message = text_of(event.get("message")) or "The server reported an error."
            words = f"{text_of(event.get('code'))}: {message}".removeprefix(": ")
            self._fail(classify(None, words), words)
        return []

    def _arguments(self, event: JsonObject, piece: str) -> list[Delta]:
        """Return the piece with its call: by item id, else the call that was added last."""
        ids = list(self._calls)
        item_id = text_of(event.get("item_id"))
        if item_id not in self._calls:
            item_id = ids[-1] if ids else ""
        name = self._tools.names.from_wire(clean(self._calls.get(item_id, "")))
        index = ids.index(item_id) if item_id in ids else 0
        return [ArgumentsDelta(index=index, name=name, text=clean(piece))]

    def _reply(self) -> ModelReply | ModelFailure:
        final = self._final or {}
        if final.get("status") == "failed":
            return _failed(final.get("error"))
        output = final.get("output")
        items = output if isinstance(output, list) and output else self._items
        blocks = self._blocks(items)
        usage = final.get("usage")
        return ModelReply(
            blocks=tuple(blocks),
            stop=self._stop(final, items, blocks),
            usage=Usage(
                input_tokens=count_of(usage, "input_tokens"),
                output_tokens=count_of(usage, "output_tokens"),
                cached_tokens=count_of(usage, "input_tokens_details", "cached_tokens"),
                reasoning_tokens=count_of(usage, "output_tokens_details", "reasoning_tokens"),
            ),
            model=clean(text_of(final.get("model"))),
            response_id=clean(text_of(final.get("id"))),
            raw=json.dumps({**final, "output": items}).encode(),
        )

    def _blocks(self, items: Sequence[JsonValue]) -> list[Block]:
        blocks: list[Block] = []
        taken: set[str] = set()
        for item in items:
            if not isinstance(item, dict) or not self._has_room(len(blocks)):
                continue
            kind = item.get("type")
            if kind == "message":
                if text := clean(_message_text(item)):
                    blocks.append(TextBlock(text=text))
            elif kind == "function_call":
                call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
                name, arguments = text_of(item.get("name")), raw_arguments(item.get("arguments"))
                call = call_block(call_id, name, arguments, taken, self._new_id)
                blocks.append(self._tools.from_wire(call))
            elif kind == "reasoning" and item.get("encrypted_content"):
                # Without its encrypted content an item cannot be handed back: nothing is stored.
                summary = clean(text_of(item.get("summary")))
                data = json.dumps({k: v for k, v in item.items() if k != "status"})
                blocks.append(ReasoningBlock(provider=self._tag, data=data, summary=summary))
        return blocks

    def _stop(
        self, final: JsonObject, items: Sequence[JsonValue], blocks: Sequence[Block]
    ) -> StopReason:
        if final.get("status") == "incomplete":
            details = final.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            return "refusal" if reason == "content_filter" else "max_tokens"
        if any(_refuses(item) for item in items):
            return "refusal"
        calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
        if self._is_cut(final, calls):
            return "max_tokens"
        return "tool_use" if calls else "end_turn"

    def _is_cut(self, final: JsonObject, calls: Sequence[ToolUseBlock]) -> bool:
        """Whether a "completed" reply was cut: llama.cpp says so of every reply.

        Whoever used up the whole budget was cut, unless calls came out whole.
        """
        if count_of(final.get("usage"), "output_tokens") < self._max_output_tokens:
            return False
        return not calls or any(not isinstance(parse_object(c.arguments), dict) for c in calls)


def _message_text(item: JsonObject) -> str:
    """Return a message's text; a refusal is the text that the model gave instead."""
    content = item.get("content")
    if not isinstance(content, list):
        return text_of(content)
    parts = [part for part in content if isinstance(part, dict)]
    return "".join(text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts)


def _refuses(item: JsonValue) -> bool:
    content = item.get("content") if isinstance(item, dict) else None
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)


def _failed(error: JsonValue) -> ModelFailure:
    detail = error if isinstance(error, dict) else {}
    words = ": ".join(t for t in (text_of(detail.get("code")), text_of(detail.get("message"))) if t)
    return failure(classify(None, words), words or "The server reported a failed response.")
