"""Differences between servers that speak the same protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from artificer.contracts.strict_dialect import StrictDialect
from artificer.values.base import JsonObject

RETURNS_REASONING = "reasoning"
"""The wire feature of a dialect that hands reasoning back to the server."""


@dataclass(frozen=True)
class Dialect:
    """The settings common to all protocols.

    ``provider`` tags the reasoning blocks. ``strict`` is the server's strict mode, or None.
    ``caches`` means that it can cache prompts, ``formats`` that it can force a reply to match a
    JSON Schema. ``extra`` are further members of every request, such as Anthropic's ``thinking`` or
    llama.cpp's ``cache_prompt``.
    """

    wire: ClassVar[str]

    provider: str
    strict: StrictDialect | None = None
    caches: bool = False
    formats: bool = False
    extra: JsonObject = field(default_factory=dict)

    @property
    def features(self) -> tuple[str, ...]:
        """Settings that change requests, which a replay must know."""
        return ()

    @property
    def tag(self) -> str:
        """The tag of a reasoning block from this provider on this wire."""
        return f"{self.provider}/{self.wire}"


@dataclass(frozen=True)
class ChatDialect(Dialect):
    """The differences between servers that speak Chat Completions.

    ``returns_reasoning`` sends reasoning back to the server that wrote it, in the member in which
    it arrived. DeepSeek refuses the next request of a tool loop without it; OpenAI has none.
    """

    wire = "chat"

    max_tokens_key: str = "max_tokens"
    include_usage: bool = True
    returns_reasoning: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """``reasoning``, if it is sent back."""
        return (RETURNS_REASONING,) if self.returns_reasoning else ()


@dataclass(frozen=True)
class MessagesDialect(Dialect):
    """The differences between servers that speak Messages."""

    wire = "messages"


@dataclass(frozen=True)
class ResponsesDialect(Dialect):
    """The differences between servers that speak Responses."""

    wire = "responses"
