"""Blocks and messages: the normal form behind which every provider stands (seed 003)."""

from __future__ import annotations

from typing import ClassVar, Literal

from artificer.values.base import Text, Value

CallStatus = Literal[
    "ok",
    "error",
    "invalid",
    "unknown_tool",
    "denied",
    "timeout",
    "cancelled",
    "duplicate",
    "ambiguous",
]
"""How a tool call ended (invariant 1: every call ends in exactly one of these)."""


class TextBlock(Value, tag_field="type"):
    """Text that the user or the model wrote."""

    type: ClassVar[Literal["text"]] = "text"
    text: Text


class ToolUseBlock(Value, tag_field="type"):
    """A tool call as the model wrote it: ``arguments`` is its raw text, valid JSON or not."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: Text
    name: Text
    arguments: Text


class ToolResultBlock(Value, tag_field="type"):
    """The one answer to a tool call; ``content`` is what the model reads."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    status: CallStatus
    content: Text

    @property
    def is_error(self) -> bool:
        """Whether the provider should learn that the call failed."""
        return self.status != "ok"


class ReasoningBlock(Value, tag_field="type"):
    """A model's reasoning: opaque, handed back only to the provider that made it.

    ``data`` is the provider's own JSON text, kept byte for byte (it may be signed or encrypted);
    ``summary`` is the readable part, if there is one.
    """

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    provider: str
    data: Text
    summary: Text = ""


Block = TextBlock | ToolUseBlock | ToolResultBlock | ReasoningBlock


class Message(Value):
    """One turn's worth of blocks from one side. Tool results are part of user messages."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join([b.text for b in self.blocks if isinstance(b, TextBlock)])

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls, in order."""
        return tuple([b for b in self.blocks if isinstance(b, ToolUseBlock)])


def user(text: str) -> Message:
    """A user message of one text block."""
    return Message(role="user", blocks=(TextBlock(text=text),))
