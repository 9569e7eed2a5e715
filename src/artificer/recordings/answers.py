"""The recorded answers of models, as a provider returns them."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.core.events import (
    CompactionFailed,
    ContextCompacted,
    ModelFailed,
    ModelResponded,
)
from artificer.core.record import EventLine, IntentLine, Line
from artificer.ports import BlobStore, Journal, Provider
from artificer.providers.chain import each
from artificer.providers.recorded import RecordedProvider
from artificer.runtime.load import load
from artificer.values.blocks import Block, TextBlock
from artificer.values.model import ModelFailure, ModelReply, StopReason

ModelOutcome = ModelResponded | ModelFailed | ContextCompacted | CompactionFailed
"""The events that record the result of a request to a model."""

MODEL_OUTCOMES = (ModelResponded, ModelFailed, ContextCompacted, CompactionFailed)

Answers = dict[str, ModelReply | ModelFailure]


def answers_of(lines: Iterable[Line], blobs: BlobStore) -> Answers:
    """Return the recorded answers by the digest of their request, the last one of several."""
    requests: dict[int, str] = {}
    answers: Answers = {}
    for line in lines:
        if isinstance(line, IntentLine) and line.request:
            requests[line.intent.n] = line.request
        if not isinstance(line, EventLine) or not isinstance(line.event, MODEL_OUTCOMES):
            continue
        if line.event.intent in requests:  # a failed compaction may have sent no request
            answers[requests[line.event.intent]] = answer_of(line.event, blobs)
    return answers


async def recorded_from(
    journal: Journal, blobs: BlobStore, run: str, original: Provider
) -> Provider:
    """Return a provider that answers as ``original`` did in a recorded run.

    Raises:
        NotFoundError: the run does not exist.
    """
    answers = answers_of((await load(journal, blobs, run)).lines, blobs)
    return each(original, lambda model: RecordedProvider(model, answers))


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
