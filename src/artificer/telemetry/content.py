"""Conversations in the form of the GenAI conventions, sent only when enabled."""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.core.spec import RunSpec
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.model import StopReason

FINISH_REASONS: dict[StopReason, str] = {
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
    "tool_use": "tool_call",
}


def input_messages(history: Sequence[Message]) -> str:
    """Return ``gen_ai.input.messages``: the conversation sent to the model."""
    return _text([{"role": _role(message), "parts": _parts(message.blocks)} for message in history])


def output_messages(blocks: Sequence[Block], stop: StopReason) -> str:
    """Return ``gen_ai.output.messages``: one reply."""
    reason = FINISH_REASONS[stop]
    return _text([{"role": "assistant", "parts": _parts(blocks), "finish_reason": reason}])


def system_instructions(spec: RunSpec) -> str:
    """``gen_ai.system_instructions``."""
    return _text([{"type": "text", "content": spec.system}])


def tool_definitions(spec: RunSpec) -> str:
    """``gen_ai.tool.definitions``."""
    return _text(
        [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }
            for tool in spec.tools().tools
        ]
    )


def _role(message: Message) -> str:
    answers = any(isinstance(block, ToolResultBlock) for block in message.blocks)
    return "tool" if answers else message.role


def _parts(blocks: Sequence[Block]) -> list[JsonValue]:
    return [_part(block) for block in blocks]


def _part(block: Block) -> JsonObject:
    match block:
        case TextBlock(text=text):
            return {"type": "text", "content": text}
        case ToolUseBlock(id=call_id, name=name, arguments=arguments):
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
        case ToolResultBlock(tool_use_id=call_id, content=content):
            return {"type": "tool_call_response", "id": call_id, "response": content}
        case ReasoningBlock(summary=summary):
            return {"type": "reasoning", "content": summary}
        case _:  # a reference: spans carry no bytes
            where = {"modality": block.type, "mime_type": block.media_type, "uri": block.digest}
            return {"type": "uri", **where}


def _text(value: list[JsonObject]) -> str:
    return json.dumps(value, ensure_ascii=False)
