"""The reply of one OpenAI Responses stream, assembled from its events.

Source: OpenAI's API reference (streaming events), and llama.cpp where it differs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.contracts.definition import ToolDefinition
from artificer.providers.assembler import ReplyStream
from artificer.providers.dialects import ResponsesDialect
from artificer.providers.failures import classify, failure
from artificer.providers.mapping import (
    NewId,
    count_of,
    fresh_id,
    raw_arguments,
    text_of,
)
from artificer.values.base import JsonObject, JsonValue
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
from artificer.values.strict_json import parse_object

_REASONING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
"""Pieces of reasoning: a summary from OpenAI, the text itself from servers of open models."""


class ResponsesStream(ReplyStream):
    """Assembles a reply from parsed Responses events.

    The reply is the content of the final event. Earlier events feed the live view, by item id,
    because llama.cpp sends no indexes; its finished items are used if the final event has no
    output. ``max_output_tokens`` is the request's.
    """

    def __init__(
        self,
        dialect: ResponsesDialect,
        tools: Sequence[ToolDefinition],
        max_output_tokens: int,
        new_id: NewId = fresh_id,
    ) -> None:
        super().__init__(dialect, tools, new_id)
        self._max_output_tokens = max_output_tokens
        self._calls: dict[str, str] = {}
        self._items: list[JsonValue] = []
        self._final: JsonObject | None = None

    @property
    def complete(self) -> bool:
        """Whether the final event has arrived."""
        return self._final is not None

    def _take(self, event: JsonObject) -> list[Delta]:
        kind, item = text_of(event.get("type")), event.get("item")
        piece = text_of(event.get("delta"))
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            return [TextDelta(text=piece)] if self._counted(piece) else []
        if kind in _REASONING:
            return [ReasoningDelta(text=piece)] if self._counted(piece) else []
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
        index = ids.index(item_id) if item_id in ids else 0
        return [self._arguments_delta(index, self._calls.get(item_id, ""), piece)]

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
            model=text_of(final.get("model")),
            response_id=text_of(final.get("id")),
            raw=json.dumps({**final, "output": items}).encode(),
        )

    def _blocks(self, items: Sequence[JsonValue]) -> list[Block]:
        blocks: list[Block] = []
        for item in items:
            if not isinstance(item, dict) or not self._has_room(len(blocks)):
                continue
            kind = item.get("type")
            if kind == "message":
                if text := _message_text(item):
                    blocks.append(TextBlock(text=text))
            elif kind == "function_call":
                call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
                name, arguments = text_of(item.get("name")), raw_arguments(item.get("arguments"))
                blocks.append(self._call(call_id, name, arguments))
            elif kind == "reasoning" and item.get("encrypted_content"):
                # Without encrypted content an item cannot be sent back: nothing is stored.
                data = json.dumps({k: v for k, v in item.items() if k != "status"})
                blocks.append(self._reasoning_block(data, text_of(item.get("summary"))))
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
        """Return whether a "completed" reply was cut: llama.cpp reports that for every reply.

        A reply that used the whole token limit was cut, unless its calls are complete.
        """
        if count_of(final.get("usage"), "output_tokens") < self._max_output_tokens:
            return False
        return not calls or any(not isinstance(parse_object(c.arguments), dict) for c in calls)


def _message_text(item: JsonObject) -> str:
    """Return a message's text. A refusal is the text that the model wrote instead."""
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
    words = words or "The server reported a failed response."
    return failure(classify(None, words), words, body=error)
