"""Anthropic Messages, as pure functions: the request's body, and the stream's events.

Source: Anthropic's API reference (messages, streaming, tool use, extended thinking) and, for
servers that speak it with an accent, llama.cpp's behaviour on the wire.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.contracts.strict_schema import StrictDialect
from artificer.ports import Memo, Payload
from artificer.providers.assembler import ReplyStream
from artificer.providers.failures import failure
from artificer.providers.mapping import (
    EMPTY_TURN,
    NewId,
    arguments_object,
    call_block,
    clean,
    count_of,
    filled,
    fresh_id,
    raw_arguments,
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


@dataclass(frozen=True)
class MessagesDialect:
    """What differs between servers that speak Messages.

    ``provider`` tags the reasoning blocks; ``extra`` are further members of every request, such
    as ``thinking``.
    """

    provider: str
    strict: StrictDialect | None = None
    extra: JsonObject = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What marks a reasoning block as this provider's, on this wire."""
        return f"{self.provider}/messages"


# --- the request ------------------------------------------------------------------------------


def to_payload(
    request: ModelRequest, messages: Sequence[Message], memo: Memo, dialect: MessagesDialect
) -> Payload:
    """Map a request. Each message is one item; the system prompt stands apart."""
    tools = WireTools(request.tools, strict=dialect.strict)
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
    if request.system.strip():
        rest["system"] = clean(request.system)
    if request.temperature is not None:
        rest["temperature"] = request.temperature
    if request.tools:
        rest["tools"] = [_tool(tool, tools) for tool in request.tools]
        rest["tool_choice"] = _tool_choice(request, tools)
    return rest


def _tool(tool: ToolDefinition, tools: WireTools) -> JsonObject:
    wire = tools.wire(tool)
    item: JsonObject = {
        "name": wire.name,
        "description": wire.description,
        "input_schema": wire.schema,
    }
    if wire.strict:
        item["strict"] = True
    return item


def _tool_choice(request: ModelRequest, tools: WireTools) -> JsonObject:
    choice = request.tool_choice
    if choice.mode == "tool" and choice.name is not None:
        return {"type": "tool", "name": tools.names.to_wire(choice.name)}
    return {"type": choice.mode if choice.mode in ("auto", "none") else "any"}


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
        _text(clean(block.text))
        for block in blocks
        if isinstance(block, TextBlock) and block.text.strip()
    ]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


# --- the reply --------------------------------------------------------------------------------


@dataclass
class _Block:
    """A content block as its pieces arrive: ``start`` as announced, then text by kind of delta."""

    start: JsonObject
    text: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def type(self) -> str:
        return text_of(self.start.get("type"))

    @property
    def raw_arguments(self) -> str:
        """The concatenated JSON; a server that does not stream it announces it whole."""
        return "".join(self.arguments) or raw_arguments(self.start.get("input") or None)

    def whole(self) -> JsonObject:
        """The block as one object."""
        member = {
            "text": ("text", self.text),
            "thinking": ("thinking", self.thinking),
            "tool_use": ("partial_json", self.arguments),
        }.get(self.type)
        block = dict(self.start)
        if member is not None:
            name, pieces = member
            block[name] = text_of(block.get(name)) + "".join(pieces)
        if self.signature:
            block["signature"] = text_of(block.get("signature")) + "".join(self.signature)
        return block


_PIECES = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}


class MessagesStream(ReplyStream):
    """Assembles a reply from parsed Messages events.

    Blocks are kept by index, since llama.cpp lets them overlap.
    """

    def __init__(
        self,
        dialect: MessagesDialect,
        tools: Sequence[ToolDefinition],
        new_id: NewId = fresh_id,
    ) -> None:
        super().__init__()
        self._tag = dialect.tag
        self._tools = WireTools(tools, strict=dialect.strict)
        self._new_id = new_id
        self._blocks: dict[int, _Block] = {}
        self._message: JsonObject = {}
        self._usage: JsonObject = {}
        self._stop_reason: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the reason for the reply's end has come."""
        return self._stop_reason is not None

    def _take(self, event: JsonObject) -> list[Delta]:
        kind, message = event.get("type"), event.get("message")
        if kind == "message_start" and isinstance(message, dict):
            self._message = message
            self._read_usage(message.get("usage"))
        elif kind == "content_block_start":
            return self._start(event)
        elif kind == "content_block_delta":
            return self._grow(event)
        elif kind == "message_delta":
            self._end(event)
        return []

    def _reply(self) -> ModelReply | ModelFailure:
        if self._stop_reason == "model_context_window_exceeded":
            return failure("context_overflow", "The reply ran into the end of the context window.")
        blocks = self._reply_blocks()
        return ModelReply(
            blocks=tuple(blocks),
            stop=self._stop(any(isinstance(b, ToolUseBlock) for b in blocks)),
            usage=self._counts(),
            model=clean(text_of(self._message.get("model"))),
            response_id=clean(text_of(self._message.get("id"))),
            raw=self._raw(),
        )

    def _start(self, event: JsonObject) -> list[Delta]:
        start = event.get("content_block")
        index = event.get("index")
        number = index if type(index) is int else len(self._blocks)
        if self._has_room(len(self._blocks)) and isinstance(start, dict):
            self._blocks[number] = _Block(start)
            if text := text_of(start.get("text")):
                return [TextDelta(text=clean(text))]
        return []

    def _grow(self, event: JsonObject) -> list[Delta]:
        delta = event.get("delta")
        index = event.get("index")
        number = index if type(index) is int else max(self._blocks, default=-1)
        block = self._blocks.get(number)
        if block is None or not isinstance(delta, dict):
            return []
        member = _PIECES.get(text_of(delta.get("type")))
        piece = self._counted(text_of(delta.get(member))) if member else ""
        if not piece:
            return []
        if member == "partial_json":
            block.arguments.append(piece)
            return [self._arguments_delta(number, block, piece)]
        getattr(block, str(member)).append(piece)
        return [TextDelta(text=clean(piece))] if member == "text" else []

    def _arguments_delta(self, number: int, block: _Block, piece: str) -> ArgumentsDelta:
        earlier = [n for n, b in self._blocks.items() if b.type == "tool_use" and n < number]
        name = self._tools.names.from_wire(clean(text_of(block.start.get("name"))))
        return ArgumentsDelta(index=len(earlier), name=name, text=clean(piece))

    def _end(self, event: JsonObject) -> None:
        delta = event.get("delta")
        reason = text_of(delta.get("stop_reason")) if isinstance(delta, dict) else ""
        self._stop_reason = reason or self._stop_reason
        self._read_usage(event.get("usage"))

    def _read_usage(self, usage: object) -> None:
        """Keep the newest count of each kind: those of ``message_delta`` are cumulative."""
        if isinstance(usage, dict):
            self._usage.update({k: v for k, v in usage.items() if v is not None})

    def _counts(self) -> Usage:
        """Return the usage in our sense. Anthropic counts cached input apart; we do not."""
        cached = count_of(self._usage, "cache_read_input_tokens")
        written = count_of(self._usage, "cache_creation_input_tokens")
        return Usage(
            input_tokens=count_of(self._usage, "input_tokens") + cached + written,
            output_tokens=count_of(self._usage, "output_tokens"),
            cached_tokens=cached,
            reasoning_tokens=count_of(self._usage, "output_tokens_details", "thinking_tokens"),
        )

    def _stop(self, has_calls: bool) -> StopReason:
        """Return why the reply ended.

        ``pause_turn`` means that the provider wants to go on: the reply is cut, like one at its
        token limit. Unknown reasons count as an ordinary end.
        """
        if self._stop_reason in ("max_tokens", "pause_turn"):
            return "max_tokens"
        if self._stop_reason == "refusal":
            return "refusal"
        return "tool_use" if has_calls else "end_turn"

    def _reply_blocks(self) -> list[Block]:
        blocks: list[Block] = []
        taken: set[str] = set()
        for _, block in sorted(self._blocks.items()):
            start, whole = block.start, block.whole()
            if block.type == "text" and whole["text"]:
                blocks.append(TextBlock(text=clean(text_of(whole["text"]))))
            elif block.type == "tool_use":
                call_id, name = text_of(start.get("id")), text_of(start.get("name"))
                call = call_block(call_id, name, block.raw_arguments, taken, self._new_id)
                blocks.append(self._tools.from_wire(call))
            elif _is_reusable_reasoning(whole):
                summary = clean(text_of(whole.get("thinking")))
                data = json.dumps(whole)
                blocks.append(ReasoningBlock(provider=self._tag, data=data, summary=summary))
        return blocks

    def _raw(self) -> bytes:
        """Return the reply as one JSON message: what the events say together."""
        content = [block.whole() for _, block in sorted(self._blocks.items())]
        message = {
            **self._message,
            "content": content,
            "stop_reason": self._stop_reason,
            "usage": self._usage,
        }
        return json.dumps(message).encode()


def _is_reusable_reasoning(block: JsonObject) -> bool:
    """Whether a block is reasoning that may be handed back: it must be signed or encrypted."""
    kind = block.get("type")
    return kind == "redacted_thinking" or (kind == "thinking" and bool(block.get("signature")))
