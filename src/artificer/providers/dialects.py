"""What differs between the servers that speak one protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from artificer.contracts.strict_dialect import StrictDialect
from artificer.values.base import JsonObject

RETURNS_REASONING = "reasoning"
"""The feature of a wire on which reasoning is handed back."""


@dataclass(frozen=True)
class Dialect:
    """What may differ in every protocol.

    ``provider`` tags the reasoning blocks, ``strict`` is the server's strict mode, None where it
    has none. ``caches`` says that it can be asked to keep what it has read, ``formats`` that it can
    be held to a JSON Schema in its replies. ``extra`` are further
    members of every request, such as Anthropic's ``thinking`` or llama.cpp's ``cache_prompt``.
    """

    wire: ClassVar[str]

    provider: str
    strict: StrictDialect | None = None
    caches: bool = False
    formats: bool = False
    extra: JsonObject = field(default_factory=dict)

    @property
    def features(self) -> tuple[str, ...]:
        """Choices that change requests: a replay must know them."""
        return ()

    @property
    def tag(self) -> str:
        """What marks a reasoning block as this provider's, on this wire."""
        return f"{self.provider}/{self.wire}"


@dataclass(frozen=True)
class ChatDialect(Dialect):
    """What differs between the servers that speak Chat Completions.

    ``returns_reasoning`` hands reasoning back to the server that made it, as the member in which it
    came. DeepSeek refuses the next request of a tool loop without it; OpenAI has none.
    """

    wire = "chat"

    max_tokens_key: str = "max_tokens"
    include_usage: bool = True
    returns_reasoning: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """``reasoning``, where it is handed back."""
        return (RETURNS_REASONING,) if self.returns_reasoning else ()


@dataclass(frozen=True)
class MessagesDialect(Dialect):
    """What differs between servers that speak Messages."""

    wire = "messages"


@dataclass(frozen=True)
class ResponsesDialect(Dialect):
    """What differs between servers that speak Responses."""

    wire = "responses"
