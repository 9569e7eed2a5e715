"""Differences between servers that speak the same protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from artificer.contracts.model_settings import RequestSettings
from artificer.contracts.strict_dialect import StrictDialect
from artificer.errors import ConfigError
from artificer.values.base import JsonObject

NESTED_REASONING = "reasoning"
"""The member with an effort or a number of tokens, in place of ``reasoning_effort``."""

RETURNS_REASONING = "reasoning"
"""The wire feature of a dialect that hands reasoning back to the server."""


class Dialect(Struct, frozen=True):
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
    extra: JsonObject = {}

    @property
    def features(self) -> tuple[str, ...]:
        """Settings that change requests, which a replay must know."""
        return ()

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """Return the names of the settings that this server has no member for."""
        return ()

    @property
    def tag(self) -> str:
        """The tag of a reasoning block from this provider on this wire."""
        return f"{self.provider}/{self.wire}"


class ChatDialect(Dialect, frozen=True):
    """The differences between servers that speak Chat Completions.

    ``returns_reasoning`` sends reasoning back to the server that wrote it, in the member in which
    it arrived. DeepSeek refuses the next request of a tool loop without it; OpenAI has none.
    ``seed_key`` and ``effort_key`` are the members for these settings, empty if it has none.
    ``names_tools`` is false for a server that can be required to call a tool, but not which one.
    ``id_length`` is how many letters and digits every call's id has there, 0 if it is free.
    ``quirks`` are the features that this dialect was made from (:func:`foreign_dialect`).
    A ``text_only`` server gets the names of attachments instead of their bytes.
    """

    wire = "chat"

    max_tokens_key: str = "max_tokens"
    include_usage: bool = True
    returns_reasoning: bool = False
    seed_key: str = "seed"
    effort_key: str = "reasoning_effort"
    names_tools: bool = True
    id_length: int = 0
    quirks: tuple[str, ...] = ()
    text_only: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The quirks; ``reasoning``, if it is sent back."""
        return ((RETURNS_REASONING,) if self.returns_reasoning else ()) + self.quirks

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """The seed and the reasoning, where it has none, and most servers' budget of tokens."""
        seed = settings.seed is not None and not self.seed_key
        budget = isinstance(settings.reasoning, int) and self.effort_key != NESTED_REASONING
        effort = settings.reasoning is not None and not self.effort_key
        return _names(seed=seed, reasoning=effort, **{_BUDGET: budget and not effort})


def foreign_dialect(name: str, features: Iterable[str]) -> ChatDialect:
    """Return the dialect of a server with these features, as profiles name and wires record them.

    Raises:
        ConfigError: a feature is unknown, as one that a newer release recorded.
    """
    members: dict[str, object] = {}
    quirks = []
    for feature in features:
        if feature == RETURNS_REASONING:
            members["returns_reasoning"] = True
            continue
        quirks.append(feature)
        match feature.partition("="):
            case "max_tokens", _, key:
                members["max_tokens_key"] = key
            case "usage", _, "unasked":
                members["include_usage"] = False
            case "seed", _, key:
                members["seed_key"] = "" if key == "no" else key
            case "effort", _, key:
                members["effort_key"] = "" if key == "no" else key
            case "choice", _, "mode":
                members["names_tools"] = False
            case "ids", _, length if length.isdecimal():
                members["id_length"] = int(length)
            case _:
                raise ConfigError(
                    f"The provider {name!r} has a feature that is unknown here: {feature!r}.",
                    hint="Use the release of Artificer that started the run, or a newer one.",
                )
    return ChatDialect(name, quirks=tuple(quirks), **members)  # type: ignore[arg-type]


class MessagesDialect(Dialect, frozen=True):
    """The differences between servers that speak Messages.

    A server that ``limits_images`` refuses large ones, as Anthropic does.
    """

    wire = "messages"

    limits_images: bool = False

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """The seed."""
        return _names(seed=settings.seed is not None)


class ResponsesDialect(Dialect, frozen=True):
    """The differences between servers that speak Responses."""

    wire = "responses"

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """The seed, stop sequences, and a budget of tokens."""
        budget = isinstance(settings.reasoning, int)
        seed = settings.seed is not None
        return _names(seed=seed, stop=bool(settings.stop), **{_BUDGET: budget})


_BUDGET = "reasoning as a number of tokens"


def _names(**refused: bool) -> tuple[str, ...]:
    return tuple(name for name, is_refused in refused.items() if is_refused)
