"""The reply of one Anthropic Messages stream, assembled from its events.

Source: Anthropic's API reference (streaming messages), and llama.cpp where it differs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from artificer.contracts.definition import ToolDefinition
from artificer.providers.assembler import ReplyStream
from artificer.providers.dialects import MessagesDialect
from artificer.providers.failures import failure
from artificer.providers.mapping import (
    NewId,
    count_of,
    fresh_id,
    raw_arguments,
    text_of,
)
from artificer.values.base import JsonObject
from artificer.values.blocks import (
    Block,
    TextBlock,
    ToolUseBlock,
)
from artificer.values.model import (
    Delta,
    ModelFailure,
    ModelReply,
    ReasoningDelta,
    StopReason,
    TextDelta,
    Usage,
)

_MEMBERS = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
"""For each kind of delta, the member that holds its piece."""


@dataclass
class _Block:
    """A content block as announced, and the following pieces by member."""

    start: JsonObject
    pieces: dict[str, list[str]] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The type of the block."""
        return text_of(self.start.get("type"))

    @property
    def arguments(self) -> str:
        """The concatenated JSON. A server that does not stream it announces it whole."""
        streamed = "".join(self.pieces.get("partial_json", ()))
        return streamed or raw_arguments(self.start.get("input") or None)

    def whole(self) -> JsonObject:
        """The block as one object."""
        block = dict(self.start)
        for member, pieces in self.pieces.items():
            block[member] = text_of(block.get(member)) + "".join(pieces)
        return block


class MessagesStream(ReplyStream):
    """Assembles a reply from parsed Messages events.

    Blocks are kept by index, because llama.cpp lets them overlap.
    """

    def __init__(
        self,
        dialect: MessagesDialect,
        tools: Sequence[ToolDefinition],
        new_id: NewId = fresh_id,
    ) -> None:
        super().__init__(dialect, tools, new_id)
        self._blocks: dict[int, _Block] = {}
        self._message: JsonObject = {}
        self._usage: JsonObject = {}
        self._stop_reason: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the reason for the end of the reply has arrived."""
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
            model=text_of(self._message.get("model")),
            response_id=text_of(self._message.get("id")),
            raw=self._raw(),
        )

    def _start(self, event: JsonObject) -> list[Delta]:
        start = event.get("content_block")
        index = event.get("index")
        number = index if type(index) is int else len(self._blocks)
        if self._has_room(len(self._blocks)) and isinstance(start, dict):
            self._blocks[number] = _Block(start)
            if text := text_of(start.get("text")):
                return [TextDelta(text=text)]
        return []

    def _grow(self, event: JsonObject) -> list[Delta]:
        delta = event.get("delta")
        index = event.get("index")
        number = index if type(index) is int else max(self._blocks, default=-1)
        block = self._blocks.get(number)
        if block is None or not isinstance(delta, dict):
            return []
        member = _MEMBERS.get(text_of(delta.get("type")), "")
        piece = self._counted(text_of(delta.get(member)))
        if not piece:
            return []
        block.pieces.setdefault(member, []).append(piece)
        if member == "partial_json":
            earlier = [n for n, b in self._blocks.items() if b.type == "tool_use" and n < number]
            return [self._arguments_delta(len(earlier), text_of(block.start.get("name")), piece)]
        if member == "thinking":
            return [ReasoningDelta(text=piece)]
        return [TextDelta(text=piece)] if member == "text" else []

    def _end(self, event: JsonObject) -> None:
        delta = event.get("delta")
        reason = text_of(delta.get("stop_reason")) if isinstance(delta, dict) else ""
        self._stop_reason = reason or self._stop_reason
        self._read_usage(event.get("usage"))

    def _read_usage(self, usage: object) -> None:
        """Keep the newest count of each kind: the counts in ``message_delta`` are cumulative."""
        if isinstance(usage, dict):
            self._usage.update({k: v for k, v in usage.items() if v is not None})

    def _counts(self) -> Usage:
        """Return the usage. Anthropic counts cached input separately; Artificer includes it."""
        cached = count_of(self._usage, "cache_read_input_tokens")
        written = count_of(self._usage, "cache_creation_input_tokens")
        return Usage(
            input_tokens=count_of(self._usage, "input_tokens") + cached + written,
            output_tokens=count_of(self._usage, "output_tokens"),
            cached_tokens=cached,
            written_tokens=written,
            reasoning_tokens=count_of(self._usage, "output_tokens_details", "thinking_tokens"),
        )

    def _stop(self, has_calls: bool) -> StopReason:
        """Return why the reply ended.

        ``pause_turn`` means that the provider wants to continue: the reply counts as cut, like one
        at its token limit. Unknown reasons count as an ordinary end.
        """
        if self._stop_reason in ("max_tokens", "pause_turn"):
            return "max_tokens"
        if self._stop_reason == "refusal":
            return "refusal"
        return "tool_use" if has_calls else "end_turn"

    def _reply_blocks(self) -> list[Block]:
        blocks: list[Block] = []
        for _, block in sorted(self._blocks.items()):
            start, whole = block.start, block.whole()
            if block.type == "text" and whole.get("text"):
                blocks.append(TextBlock(text=text_of(whole["text"])))
            elif block.type == "tool_use":
                call_id, name = text_of(start.get("id")), text_of(start.get("name"))
                blocks.append(self._call(call_id, name, block.arguments))
            elif _is_reusable_reasoning(whole):
                blocks.append(
                    self._reasoning_block(json.dumps(whole), text_of(whole.get("thinking")))
                )
        return blocks

    def _raw(self) -> bytes:
        """Return the content of all events as one JSON message."""
        content = [block.whole() for _, block in sorted(self._blocks.items())]
        message = {
            **self._message,
            "content": content,
            "stop_reason": self._stop_reason,
            "usage": self._usage,
        }
        return json.dumps(message).encode()


def _is_reusable_reasoning(block: JsonObject) -> bool:
    """Return whether a block is reasoning that can be sent back: signed or encrypted."""
    kind = block.get("type")
    return kind == "redacted_thinking" or (kind == "thinking" and bool(block.get("signature")))
