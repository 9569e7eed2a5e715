"""The recorded answers of models, as a provider returns them."""

from __future__ import annotations

from artificer.core.events import (
    CompactionFailed,
    ContextCompacted,
    ModelFailed,
    ModelResponded,
)
from artificer.ports import BlobStore
from artificer.values.blocks import Block, TextBlock
from artificer.values.model import ModelFailure, ModelReply, StopReason

ModelOutcome = ModelResponded | ModelFailed | ContextCompacted | CompactionFailed
"""The events that record the result of a request to a model."""


def answer_of(event: ModelOutcome, blobs: BlobStore) -> ModelReply | ModelFailure:
    """Return the recorded answer of a model, as a provider returns it."""
    raw = None if event.raw is None else blobs.get(event.raw)
    match event:
        case CompactionFailed(code="empty_summary" | "not_asked", attempts=attempts, usage=usage):
            empty: StopReason = "end_turn"
            return ModelReply(blocks=(), stop=empty, usage=usage, attempts=attempts, raw=raw)
        case ModelFailed(code=code) | CompactionFailed(code=code):
            return ModelFailure.from_json(
                {"code": code, "message": event.message, "attempts": event.attempts, "raw": raw}
            )
        case ContextCompacted():
            summary = TextBlock(text=event.summary)
            return _reply(event, (summary,), "end_turn", raw)
        case ModelResponded():
            return _reply(event, event.blocks, event.stop, raw)


def _reply(
    event: ModelResponded | ContextCompacted,
    blocks: tuple[Block, ...],
    stop: StopReason,
    raw: bytes | None,
) -> ModelReply:
    return ModelReply(
        blocks=blocks,
        stop=stop,
        usage=event.usage,
        model=event.model,
        response_id=event.response_id,
        attempts=event.attempts,
        raw=raw,
    )
