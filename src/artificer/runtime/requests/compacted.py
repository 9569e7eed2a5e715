"""The result of a compaction, as an event: the model's summary, or the fact that there is none."""

from __future__ import annotations

from artificer.core import events as ev
from artificer.core.context import opening
from artificer.core.intents import Compact
from artificer.core.state import RunState
from artificer.values.model import ModelFailure, ModelReply
from artificer.values.text import clip

CHARS_A_TOKEN = 8
"""Most characters of a summary that a token may stand for; what is longer is cut."""


def compacted(
    state: RunState,
    intent: Compact,
    at: int,
    *,
    reply: ModelReply | ModelFailure | None = None,
    not_sent: str = "",
    duration_ms: int = 0,
    raw: str | None = None,
) -> ev.ContextCompacted | ev.CompactionFailed:
    """Say what the model reads from now on in place of the messages that are no longer sent.

    ``not_sent`` is why no request was sent.
    """
    if isinstance(reply, ModelReply):
        texts = (block.text for block in reply.blocks if block.type == "text")
        summary = clip("\n\n".join(texts).strip(), CHARS_A_TOKEN * intent.max_tokens)
        cost = None if state.run_spec.price is None else state.run_spec.price.micros(reply.usage)
        if summary and reply.stop != "refusal":  # what it then says is not a summary
            return ev.ContextCompacted(
                at=at,
                intent=intent.n,
                upto=intent.upto,
                summary=summary,
                content=opening(state, intent, summary),
                usage=reply.usage,
                model=reply.model,
                response_id=reply.response_id,
                attempts=reply.attempts,
                duration_ms=duration_ms,
                cost_micros=cost,
                raw=raw,
            )
    failed = ev.CompactionFailed(
        at=at,
        intent=intent.n,
        upto=intent.upto,
        code="not_asked",
        message=not_sent,
        content=opening(state, intent, ""),
        duration_ms=duration_ms,
        raw=raw,
    )
    if isinstance(reply, ModelFailure):
        failure = {"code": reply.code, "message": reply.message, "attempts": reply.attempts}
        return failed.replace(**failure)
    if isinstance(reply, ModelReply):
        spent = {"usage": reply.usage, "cost_micros": cost, "attempts": reply.attempts}
        empty = {"code": "empty_summary", "message": "The model wrote no summary."}
        return failed.replace(**empty, **spent)
    return failed
