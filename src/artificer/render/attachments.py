"""The attachments of a run at the end of its report: images are shown, all others are named.

An image is written as a data URI of the type that its bytes have; a vector image never is.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from artificer.render.template import filled
from artificer.render.text import code_span, one_line
from artificer.values.blocks import AttachedBlock, ImageBlock
from artificer.values.media_types import IMAGES, pixels_of, sniffed

TITLE = "Attached"


class ShownAttachment(Struct, frozen=True):
    """An attachment with the bytes of an image; None if they are not here."""

    block: AttachedBlock
    data: bytes | None = None

    @property
    def facts(self) -> str:
        """The type, the size and the digest."""
        block = self.block
        return f"{block.media_type}, {block.size:,} bytes, {block.digest}"

    @property
    def name(self) -> str:
        """The name of the attachment, or its kind."""
        return one_line(self.block.name) or self.block.type


def attachments_html(attached: Sequence[ShownAttachment]) -> Markup:
    """Return the section of a page, or nothing."""
    if not attached:
        return Markup()
    items = [{"name": shown.name, "facts": shown.facts, "url": _url(shown)} for shown in attached]
    return filled("attachments", title=TITLE, items=items)


def attachments_markdown(attached: Sequence[ShownAttachment]) -> list[str]:
    """Return the blocks of a Markdown report."""
    if not attached:
        return []
    lines = [f"- {code_span(shown.name)}: {shown.facts}" for shown in attached]
    return [f"## {TITLE}", "\n".join(lines)]


def _url(shown: ShownAttachment) -> str:
    """Return an image as a data URI, and nothing for any other attachment."""
    block, data = shown.block, shown.data
    if data is None or not isinstance(block, ImageBlock) or not _is_image(block, data):
        return ""
    return f"data:{block.media_type};base64,{base64.b64encode(data).decode()}"


def _is_image(block: ImageBlock, data: bytes) -> bool:
    """Whether the bytes are the image that the record says: it may come from another world."""
    media_type = block.media_type
    found = media_type in IMAGES and sniffed(data) == media_type
    return found and pixels_of(data, media_type) is not None
