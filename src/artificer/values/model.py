"""Requests to a model and its replies, in terms of no particular provider."""

from __future__ import annotations

from typing import ClassVar, Literal

from artificer.values.base import Text, Value
from artificer.values.blocks import Block
from artificer.values.value_type import NamedValueType

StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal"]
"""Why a reply ended. Context overflow is a failure, not a stop reason: there is no reply."""

FailureCode = Literal[
    "auth",
    "bad_request",
    "budget",
    "context_overflow",
    "cost_limit",
    "invalid_call",
    "malformed_response",
    "max_tokens",
    "not_found",
    "out_of_time",
    "overloaded",
    "rate_limited",
    "stream_truncated",
    "timeout",
    "token_limit",
    "unavailable",
]
"""Why there is no reply, after all attempts. ``max_tokens`` is more than the model can write.

``invalid_call`` is the model's mistake, noticed by the server: the model reads it and tries again.
``auth``, ``budget``, ``not_found``, ``overloaded``, ``rate_limited``, ``timeout`` and
``unavailable`` leave a run that can be resumed; the others end it. ``budget`` and
``out_of_time`` are our own: nothing was sent, or the run's time was over before the reply. So are
``cost_limit`` and ``token_limit``: a run and its children have used what they may together.
"""

RESUMABLE_FAILURES: frozenset[str] = frozenset(
    {"auth", "budget", "not_found", "overloaded", "rate_limited", "timeout", "unavailable"}
)


FALLBACK_FAILURES: frozenset[str] = frozenset(
    {
        "auth",
        "malformed_response",
        "not_found",
        "overloaded",
        "rate_limited",
        "stream_truncated",
        "timeout",
        "unavailable",
    }
)
"""Failures after which a run asks the next model of its list: of one model or its server.

After the others it does not: another model would find the same budget, time, request or context.
"""


class Usage(Value):
    """Token counts. ``output_tokens`` includes the reasoning, ``input_tokens`` those that the
    provider read from its cache (``cached_tokens``) and those that it wrote to it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    written_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return self.replace(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
        )


class ToolChoice(Value, metaclass=NamedValueType):
    """Whether the model may, must or must not call tools.

    ``tool`` demands the one tool called ``name``.
    """

    mode: Literal["auto", "none", "required", "tool"] = "auto"
    name: str | None = None


class ModelReply(Value):
    """A complete reply, normalised.

    ``raw`` is the provider's response as bytes, kept as a blob next to the normal form.
    ``attempts`` counts the requests that were sent, retries included.
    """

    blocks: tuple[Block, ...]
    stop: StopReason
    usage: Usage = Usage()
    model: Text = ""
    response_id: Text = ""
    attempts: int = 1
    raw: bytes | None = None


class ModelFailure(Value):
    """No reply, and why. ``message`` is the provider's own words, without secrets."""

    code: FailureCode
    message: Text
    attempts: int = 1
    raw: bytes | None = None


class TextDelta(Value, tag_field="type"):
    """A piece of text, as it forms."""

    type: ClassVar[Literal["text"]] = "text"
    text: Text


class ArgumentsDelta(Value, tag_field="type"):
    """A piece of a tool call's raw arguments, as it forms. ``index`` counts the reply's calls."""

    type: ClassVar[Literal["arguments"]] = "arguments"
    index: int
    name: Text
    text: Text


class ReasoningDelta(Value, tag_field="type"):
    """A piece of the model's reasoning, as it forms, where the provider shows it."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: Text


class RetryDelta(Value, tag_field="type"):
    """The request failed with ``code``, and is sent again at ``until``: what has formed of the
    reply does not count.

    ``until`` is in milliseconds since 1970-01-01 UTC; ``attempt`` is the next one of ``attempts``.
    With a ``limit`` nothing was sent yet: it waits until then, or until that limit leaves room.
    """

    type: ClassVar[Literal["retry"]] = "retry"
    code: FailureCode
    until: int
    attempt: int
    attempts: int
    limit: Text = ""


FormedDelta = TextDelta | ReasoningDelta | ArgumentsDelta
"""A piece of a reply."""

Delta = FormedDelta | RetryDelta
"""Anything that a provider says before its reply is complete."""
