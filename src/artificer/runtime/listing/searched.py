"""The text of a record that a search compares: what people and models wrote or read."""

from __future__ import annotations

from msgspec import Struct

from artificer.core import events as ev
from artificer.core.events import Event
from artificer.core.record import EventLine, decode
from artificer.ports import BlobStore, Record
from artificer.values.blocks import TextBlock, ToolUseBlock

LONGEST_TEXT = 50_000
"""Characters of a record that are compared. More is mostly data."""

_TYPES = tuple(
    f'"type":"{name}"'.encode()
    for name in (
        "PromptReceived",
        "FollowUpReceived",
        "Steered",
        "RunForked",
        "ModelResponded",
        "ToolReturned",
    )
)


class SearchedText(Struct, frozen=True):
    """The text of a record, and who wrote it. ``kind`` is that of its run, for a prompt."""

    event: str
    role: str
    at: int
    text: str
    kind: str = ""


def searched_text(record: Record, blobs: BlobStore) -> SearchedText | None:
    """Return the text of a record; None for one without, or whose contents were pruned.

    Raises:
        TamperedError, NotFoundError: it cannot be read, or a blob of it is gone.
    """
    if not any(name in record.body for name in _TYPES):
        return None  # most records, and those that repeat a whole conversation
    line = decode(record.body, blobs.get)
    if not isinstance(line, EventLine):
        return None
    event = line.event
    role, text = _text(event)
    kind = event.spec.kind if isinstance(event, ev.PromptReceived) else ""
    if not role:
        return None
    return SearchedText(event.type, role, event.at, text[:LONGEST_TEXT], kind)


def _text(event: Event) -> tuple[str, str]:
    match event:
        case ev.PromptReceived(spec=spec):
            return "prompt", spec.prompt
        case ev.FollowUpReceived(text=text):
            return "follow-up", text
        case ev.Steered(text=text) | ev.RunForked(steer=text):
            return "steer", text
        case ev.ModelResponded(blocks=blocks):
            texts = []
            for block in blocks:
                if isinstance(block, TextBlock):
                    texts.append(block.text)
                elif isinstance(block, ToolUseBlock):
                    texts.append(f"{block.name} {block.arguments}")
            return "reply", "\n".join(texts)
        case ev.ToolReturned(content=content):
            return "result", content
        case _:
            return "", ""
