"""What differs between the servers that speak one protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from artificer.contracts.strict_schema import StrictDialect
from artificer.values.base import JsonObject


@dataclass(frozen=True)
class ChatDialect:
    """What differs between the servers that speak Chat Completions.

    ``provider`` tags the reasoning blocks. ``returns_reasoning`` hands them back to the server
    that made them (OpenRouter and DeepSeek want that, OpenAI has none). ``extra`` are further
    members of every request, such as llama.cpp's ``cache_prompt``.
    """

    provider: str
    max_tokens_key: str = "max_tokens"
    strict: StrictDialect | None = None
    include_usage: bool = True
    returns_reasoning: bool = False
    extra: JsonObject = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What marks a reasoning block as this provider's, on this wire."""
        return f"{self.provider}/chat"


@dataclass(frozen=True)
class MessagesDialect:
    """What differs between servers that speak Messages.

    ``provider`` tags the reasoning blocks; ``extra`` are further members of every request, such
    as ``thinking``.
    """

    provider: str
    strict: StrictDialect | None = None
    extra: JsonObject = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What marks a reasoning block as this provider's, on this wire."""
        return f"{self.provider}/messages"


@dataclass(frozen=True)
class ResponsesDialect:
    """What differs between servers that speak Responses.

    ``provider`` tags the reasoning blocks; ``extra`` are further members of every request, such
    as ``reasoning``.
    """

    provider: str
    strict: StrictDialect | None = None
    extra: JsonObject = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What marks a reasoning block as this provider's, on this wire."""
        return f"{self.provider}/responses"
