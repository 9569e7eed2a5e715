"""The attachments of a conversation: how many, how large together, and what is too much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from artificer.core.spec import Limits
from artificer.values.base import Value
from artificer.values.blocks import AttachedBlock, Message, ToolResultBlock

_KINDS = frozenset(get_args(AttachedBlock))


class Attached(Value):
    """The number of a conversation's attachments, and their bytes."""

    number: int = 0
    size: int = 0

    def plus(self, blocks: Sequence[AttachedBlock]) -> Attached:
        """Return the count with more of them."""
        size = sum([block.size for block in blocks])
        return Attached(number=self.number + len(blocks), size=self.size + size)

    def fault(self, block: AttachedBlock, limits: Limits) -> str:
        """Return why one more attachment is too much, or nothing."""
        if block.size > limits.attachment_bytes:
            return f"an attachment has at most {limits.attachment_bytes:,} bytes"
        if self.number >= limits.attachments:
            return f"a conversation has at most {limits.attachments:,} attachments"
        if self.size + block.size > limits.attached_bytes:
            return f"the attachments of a conversation have at most {limits.attached_bytes:,} bytes"
        return ""

    def within(
        self, blocks: Sequence[AttachedBlock], limits: Limits
    ) -> tuple[tuple[AttachedBlock, ...], str]:
        """Return those of some attachments that fit, and a note about the others."""
        kept: list[AttachedBlock] = []
        notes = ""
        for block in blocks:
            if fault := self.plus(kept).fault(block, limits):
                notes += f"\n[{described(block)} was left out: {fault}.]"
            else:
                kept.append(block)
        return tuple(kept), notes


def attached_to(message: Message) -> list[AttachedBlock]:
    """The attachments of a message, those of tool results too."""
    own: list[AttachedBlock] = []
    of_results: list[AttachedBlock] = []
    for block in message.blocks:
        if type(block) is ToolResultBlock:
            of_results += block.attachments
        elif type(block) in _KINDS:
            own.append(cast(AttachedBlock, block))
    return own + of_results


def described(block: AttachedBlock) -> str:
    """Name an attachment to a reader, without its bytes."""
    name = f"{block.name} " if block.name else ""
    return f"{block.type} {name}({block.media_type}, {block.size:,} bytes)"
