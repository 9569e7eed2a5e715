"""How the three protocols carry images, sounds and files.

A part names the blob (:mod:`artificer.values.blob_text`); its bytes are put in when the request is
sent. Sources: Anthropic's API reference (image and document blocks, also in tool results; vision
guide: 5 MB of base64 for an image), OpenAI's API reference (chat completion content parts; input
items of a response) and guides to images, audio and file inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from artificer.core.attachments import described
from artificer.providers.dialects import ChatDialect, MessagesDialect, ResponsesDialect
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blob_text import blob_text
from artificer.values.blocks import AttachedBlock, AudioBlock, ImageBlock
from artificer.values.media_types import PDF, is_textual

WirePart = JsonObject | str
"""A part of a message, or why the protocol has none for an attachment."""

_MAX_IMAGE = 5 * 1024 * 1024 // 4 * 3
"""Bytes of an image for Anthropic, whose limit of 5 MB counts their base64."""

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}

_NO_AUDIO = "this API takes no audio"
_ONLY_PDF_AND_TEXT = "this API takes PDFs and texts only"


def messages_part(block: AttachedBlock, dialect: MessagesDialect) -> WirePart:
    """Return a content block of Messages."""
    if isinstance(block, ImageBlock):
        if dialect.limits_images and block.size > _MAX_IMAGE:
            return f"this API takes images of at most {_MAX_IMAGE:,} bytes"
        return {"type": "image", "source": _source(block)}
    if isinstance(block, AudioBlock):
        return _NO_AUDIO
    source = _source(block)
    if is_textual(block.media_type):
        text = blob_text(block.digest, "utf-8")
        source = {"type": "text", "media_type": "text/plain", "data": text}
    elif block.media_type != PDF:
        return _ONLY_PDF_AND_TEXT
    title: JsonObject = {"title": block.name} if block.name else {}
    return {"type": "document", "source": source, **title}


def chat_part(block: AttachedBlock, dialect: ChatDialect) -> WirePart:
    """Return a content part of Chat Completions."""
    if dialect.text_only:
        return "this model reads text only"
    if isinstance(block, ImageBlock):
        return {"type": "image_url", "image_url": {"url": _data_url(block)}}
    if isinstance(block, AudioBlock):
        return _input_audio(block)
    if is_textual(block.media_type):
        return {"type": "text", "text": _inline(block)}
    if block.media_type != PDF:
        return _ONLY_PDF_AND_TEXT
    return {"type": "file", "file": {"filename": _file_name(block), "file_data": _data_url(block)}}


def _input_audio(block: AudioBlock) -> WirePart:
    form = _AUDIO_FORMATS.get(block.media_type)
    if form is None:
        return "this API takes audio as WAV or MP3 only"
    data = blob_text(block.digest, "base64")
    return {"type": "input_audio", "input_audio": {"data": data, "format": form}}


def responses_part(block: AttachedBlock, dialect: ResponsesDialect) -> WirePart:
    """Return an input part of Responses."""
    if isinstance(block, ImageBlock):
        return {"type": "input_image", "image_url": _data_url(block), "detail": "auto"}
    if isinstance(block, AudioBlock):
        return _NO_AUDIO
    if is_textual(block.media_type):
        return {"type": "input_text", "text": _inline(block)}
    return {
        "type": "input_file",
        "filename": _file_name(block),
        "file_data": _data_url(block),
    }


def fault_of(part: WirePart) -> str:
    """Return why a protocol has no part for an attachment, or nothing."""
    return part if isinstance(part, str) else ""


def parts_of(
    blocks: Sequence[AttachedBlock],
    part: Callable[[AttachedBlock], WirePart],
    text: Callable[[str], JsonObject],
) -> list[JsonObject]:
    """Return the parts of attachments; ``text`` writes a note for one that has none."""
    parts: list[JsonObject] = []
    for block in blocks:
        found = part(block)
        if isinstance(found, str):
            found = text(f"[{described(block)} is not shown: {found}.]")
        parts.append(found)
    return parts


def _source(block: AttachedBlock) -> JsonObject:
    data = blob_text(block.digest, "base64")
    return {"type": "base64", "media_type": block.media_type, "data": data}


def _data_url(block: AttachedBlock) -> JsonValue:
    return blob_text(block.digest, "base64", f"data:{block.media_type};base64,")


def _inline(block: AttachedBlock) -> JsonValue:
    return blob_text(block.digest, "utf-8", f"{_file_name(block)} ({block.media_type}):\n\n")


def _file_name(block: AttachedBlock) -> str:
    return block.name or ("file.pdf" if block.media_type == PDF else "file")
