"""Blocks and messages: the form into which every provider's messages are translated."""

from __future__ import annotations

from typing import ClassVar, Literal

from artificer.values.base import Digest, Text, Value

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


class _Attached(Value, tag_field="type"):
    """Bytes in the blob store: their digest, checked media type and size, and their name.

    ``tokens`` is an estimate of what they cost a model, on the safe side.
    """

    tag_is_content = True

    digest: Digest
    media_type: str
    size: int
    tokens: int
    name: Text = ""


class ImageBlock(_Attached):
    """An image: PNG, JPEG, GIF or WebP."""

    type: ClassVar[Literal["image"]] = "image"


class AudioBlock(_Attached):
    """A sound: WAV, MP3, Ogg or FLAC."""

    type: ClassVar[Literal["audio"]] = "audio"


class FileBlock(_Attached):
    """A file of any other type."""

    type: ClassVar[Literal["file"]] = "file"


AttachedBlock = ImageBlock | AudioBlock | FileBlock
"""An attachment of a prompt or of a tool's result, as it is recorded."""


class ToolResultBlock(Value, tag_field="type"):
    """The one answer to a tool call; ``content`` is what the model reads, with attachments."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    status: CallStatus
    content: Text
    attachments: tuple[AttachedBlock, ...] = ()

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


Block = (
    TextBlock
    | ToolUseBlock
    | ToolResultBlock
    | ReasoningBlock
    | ImageBlock
    | AudioBlock
    | FileBlock
)


class Message(Value):
    """One turn's worth of blocks from one side. Tool results are part of user messages."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join([b.text for b in self.blocks if type(b) is TextBlock])

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls, in order."""
        return tuple([b for b in self.blocks if type(b) is ToolUseBlock])

    @property
    def attachments(self) -> tuple[AttachedBlock, ...]:
        """The message's own attachments, without those of tool results."""
        return tuple([b for b in self.blocks if isinstance(b, AttachedBlock)])

    @property
    def attached_tokens(self) -> int:
        """Estimate the tokens of all attachments in the message, those of tool results too."""
        tokens = 0
        for block in self.blocks:
            if isinstance(block, ToolResultBlock):
                tokens += sum([attached.tokens for attached in block.attachments])
            elif isinstance(block, AttachedBlock):
                tokens += block.tokens
        return tokens


def user(text: str, attachments: tuple[AttachedBlock, ...] = ()) -> Message:
    """A user message: the attachments, then one text, as the providers recommend."""
    return Message(role="user", blocks=(*attachments, TextBlock(text=text)))
