"""Redacting secrets in what a model writes or a provider repeats, before it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from artificer.values.blocks import Block, ReasoningBlock, TextBlock, ToolUseBlock
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    FormedDelta,
    ModelFailure,
    ModelReply,
    RetryDelta,
)

Clean = Callable[[str], str]

MAX_HELD = 2_000
"""Characters of a reply that are held back while it forms, at most."""


def cleaned_reply(reply: ModelReply | ModelFailure, clean: Clean) -> ModelReply | ModelFailure:
    """A reply without secrets.

    Reasoning that holds one is dropped: it may be signed, and a changed one is refused. The
    provider's own response is then not kept either, because its pieces may split a secret.
    """
    if isinstance(reply, ModelFailure):
        raw = None if reply.raw is None else cleaned_bytes(reply.raw, clean)
        return reply.replace(message=clean(reply.message), raw=raw)
    blocks = tuple(_blocks(reply.blocks, clean))
    if blocks != reply.blocks:
        return reply.replace(blocks=blocks, raw=None)
    raw = None if reply.raw is None else cleaned_bytes(reply.raw, clean)
    return reply if raw is reply.raw else reply.replace(raw=raw)


def _blocks(blocks: tuple[Block, ...], clean: Clean) -> Iterator[Block]:
    for block in blocks:
        match block:
            case TextBlock(text=text):
                yield block.replace(text=clean(text))
            case ToolUseBlock(name=name, arguments=arguments):
                yield block.replace(name=clean(name), arguments=clean(arguments))
            case ReasoningBlock(data=data, summary=summary):
                if (clean(data), clean(summary)) == (data, summary):
                    yield block
            case _:
                yield block


def cleaned_bytes(data: bytes, clean: Clean) -> bytes:
    """Return bytes without the secrets in them."""
    text = data.decode("utf-8", "surrogateescape")
    cleaned = clean(text)
    return data if cleaned == text else cleaned.encode("utf-8", "surrogateescape")


class CleanDeltas:
    """Hands on the pieces of a reply without secrets, while it forms.

    A secret may come in several pieces, so the word that is being written is held back.
    """

    def __init__(self, clean: Clean, hand_on: Callable[[Delta], None]) -> None:
        self._clean = clean
        self._hand_on = hand_on
        self._held: FormedDelta | None = None

    def __call__(self, delta: Delta) -> None:
        """Take a piece, and hand on what is certain."""
        held = self._held
        if isinstance(delta, RetryDelta):  # the reply begins again, without what is held back
            self._held = None
            self._hand_on(delta)
            return
        if held is not None and _joins(held, delta):
            delta = delta.replace(text=held.text + delta.text)
        else:
            self.flush()
        text = self._clean(delta.text)
        end = max(_last_space(text), len(text) - MAX_HELD)
        self._held = delta.replace(text=text[end:])
        if end > 0:
            self._hand_on(delta.replace(text=text[:end]))

    def flush(self) -> None:
        """Hand on what was held back: nothing follows it."""
        held, self._held = self._held, None
        if held is not None and held.text:
            self._hand_on(held)


def _joins(one: FormedDelta, other: FormedDelta) -> bool:
    if isinstance(one, ArgumentsDelta) and isinstance(other, ArgumentsDelta):
        return one.index == other.index
    return type(one) is type(other)


def _last_space(text: str) -> int:
    """The place behind the last space or line end; 0 if there is none."""
    return 1 + max(text.rfind(" "), text.rfind("\n"))
