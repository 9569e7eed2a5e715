"""A model's reply, a tool's result and a run's tools as blobs of their own.

Every call is one, ``{"id", "name", "arguments_json"}`` with the raw text that the model wrote; so
are the text of a reply, the list of its output items, a tool's result, and the tools as the
provider is given them. A string longer than a record holds stands there as ``{"$blob": digest}``,
as it does in records. All follow from what is recorded, so they can be made again, and a replay
does so.
"""

from __future__ import annotations

from collections.abc import Sequence

from artificer.core.events import Event, ModelResponded, ToolReturned
from artificer.core.spill import INLINE_LIMIT, spilled
from artificer.core.state import RunState
from artificer.values.base import JsonObject, JsonValue, NamedDigest, Value
from artificer.values.blocks import Block, ReasoningBlock, TextBlock, ToolUseBlock
from artificer.values.canon import canonical, canonical_typed, digest_of


class OutputRefs(Value):
    """The blobs that an event has brought.

    ``items`` is the list of output items (message, tool call, reasoning) of a reply, or a tool's
    one output item; ``text`` is all that a reply says; ``calls`` are its tool calls, in order.
    """

    items: NamedDigest
    text: NamedDigest | None = None
    calls: tuple[NamedDigest, ...] = ()


def outputs_of(state: RunState, event: Event) -> tuple[OutputRefs | None, list[bytes]]:
    """Return what an event has brought, and its blobs. ``state`` is the one before it."""
    if type(event) is ModelResponded:
        return _reply(event.blocks)
    if type(event) is ToolReturned:
        return _result(state, event)
    return None, []


def tools_blob(provider: str, fields: JsonObject) -> bytes | None:
    """The tools as a provider is given them, or None when it is given none.

    ``fields`` are the members of a request other than the conversation.
    """
    if not fields.get("tools"):
        return None
    choice = fields.get("tool_choice")
    return canonical({"provider": provider, "tools": fields["tools"], "tool_choice": choice})


def _reply(blocks: Sequence[Block]) -> tuple[OutputRefs, list[bytes]]:
    written = "\n\n".join([b.text for b in blocks if type(b) is TextBlock]).encode()
    blobs = [written] if written else []
    calls = [_blob(_call(b), blobs) for b in blocks if type(b) is ToolUseBlock]
    items = _blob([item for block in blocks if (item := _item(block)) is not None], blobs)
    text = digest_of(written) if written else None
    return OutputRefs(items=items, text=text, calls=tuple(calls)), blobs


def _result(state: RunState, event: ToolReturned) -> tuple[OutputRefs, list[bytes]]:
    blobs: list[bytes] = []
    item: JsonObject = {"type": "tool_output", "id": "", "content": event.content}
    for pending in state.pending:
        if pending.n == event.intent:
            item["id"] = pending.call_id
    if event.attachments:
        item["attachments"] = [block.to_json() for block in event.attachments]
    return OutputRefs(items=_blob(item, blobs)), blobs


def _blob(value: JsonValue, blobs: list[bytes]) -> str:
    """Add a value's bytes, and those of its long strings, to ``blobs``; return its digest."""
    body = canonical_typed(value)
    if len(body) > INLINE_LIMIT:  # else no string in it is longer
        body = canonical_typed(spilled(value, blobs))
    blobs.append(body)
    return digest_of(body)


def _call(block: ToolUseBlock) -> JsonObject:
    return {"id": block.id, "name": block.name, "arguments_json": block.arguments}


def _item(block: Block) -> JsonObject | None:
    if type(block) is ToolUseBlock:
        return {"type": "tool_call", **_call(block)}
    if type(block) is TextBlock:
        part: JsonValue = {"type": "text", "text": block.text}
        return {"type": "message", "role": "assistant", "content": [part]}
    if type(block) is ReasoningBlock:
        return {"type": "reasoning", "summary": [block.summary] if block.summary else []}
    return None
