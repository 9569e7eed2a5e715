"""Images, sounds and files in requests, as the providers take and refuse them.

Sources: Anthropic's API reference and vision guide (base64 sources, four types of images, 5 MB of
base64; PDFs and plain text as documents; only text in an error result), OpenAI's API reference
(`image_url` as a data URL, `input_audio` as wav or mp3, `file` with a name and a data URL; items of
a response, also as the output of a function). Data that is not what it claims to be is refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from strict_schema import need

_IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
_STARTS = {**_IMAGES, "application/pdf": b"%PDF-"}
_AUDIO = {"wav": (b"RIFF",), "mp3": (b"ID3", b"\xff")}
_URL = re.compile(r"data:([a-z0-9.+/-]+);base64,(.*)\Z", re.DOTALL)
_MOST_BASE64 = 5 * 1024 * 1024


def _decoded(data: Any, where: str) -> bytes:
    need(isinstance(data, str) and data, f"{where}: base64 data is required")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        need(False, f"{where}: invalid base64 data")
    return b""


def _matches(data: bytes, media_type: str, where: str) -> None:
    start = _STARTS.get(media_type)
    if start is not None:
        need(data.startswith(start), f"{where}: the data does not match {media_type}")


def _members(part: dict[str, Any], required: set[str], where: str, *optional: str) -> None:
    need(required <= part.keys() <= required | {*optional}, f"{where}: members {sorted(part)}")


def messages_block(block: dict[str, Any], where: str) -> bool:
    """Check an image or a document; return whether the block is one."""
    kind = block.get("type")
    if kind not in ("image", "document"):
        return False
    _members(block, {"type", "source"}, where, *(["title"] if kind == "document" else []))
    source = block["source"]
    _members(source, {"type", "media_type", "data"}, f"{where}.source")
    media_type, data = source["media_type"], source["data"]
    if source["type"] == "text":
        need(kind == "document" and media_type == "text/plain", f"{where}: invalid text source")
        need(isinstance(data, str) and data, f"{where}: text is required")
        return True
    need(source["type"] == "base64", f"{where}: invalid source type")
    taken = _IMAGES if kind == "image" else ("application/pdf",)
    need(media_type in taken, f"{where}: media_type {media_type!r} is not supported")
    _matches(_decoded(data, where), media_type, where)
    need(kind != "image" or len(data) <= _MOST_BASE64, f"{where}: image exceeds 5 MB maximum")
    return True


def chat_part(part: dict[str, Any], where: str) -> None:
    """Check a content part of a user's message that is not a text."""
    kind = part.get("type")
    _members(part, {"type", str(kind)}, where)
    if kind == "image_url":
        _data_url(part["image_url"].get("url"), where, tuple(_IMAGES))
    elif kind == "input_audio":
        audio = part["input_audio"]
        _members(audio, {"data", "format"}, where)
        need(audio["format"] in _AUDIO, f"{where}: invalid audio format")
        data = _decoded(audio["data"], where)
        need(data.startswith(_AUDIO[audio["format"]]), f"{where}: the data is no audio")
    else:
        need(kind == "file", f"{where}: invalid content type {kind!r}")
        _members(part["file"], {"filename", "file_data"}, where)
        need(part["file"]["filename"], f"{where}: filename is required")
        _data_url(part["file"]["file_data"], where, ("application/pdf",))


def responses_part(part: dict[str, Any], where: str) -> None:
    """Check an input part that is not a text."""
    kind = part.get("type")
    if kind == "input_image":
        _members(part, {"type", "image_url", "detail"}, where)
        need(part["detail"] in ("low", "high", "auto"), f"{where}: invalid detail")
        _data_url(part["image_url"], where, tuple(_IMAGES))
        return
    need(kind == "input_file", f"{where}: invalid content type {kind!r}")
    _members(part, {"type", "filename", "file_data"}, where)
    need(part["filename"], f"{where}: filename is required")
    _data_url(part["file_data"], where)


def _data_url(url: Any, where: str, taken: tuple[str, ...] = ()) -> None:
    found = _URL.match(url) if isinstance(url, str) else None
    need(found, f"{where}: a data URL with base64 is required")
    assert found is not None
    need(not taken or found[1] in taken, f"{where}: unsupported type {found[1]!r}")
    _matches(_decoded(found[2], where), found[1], where)
