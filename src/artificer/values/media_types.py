"""Media types, found from the bytes themselves: a name or a claim proves nothing.

Images are checked to be whole in outline (signature, dimensions, end), because a viewer may be
shown them; nothing is decoded. Sources: PNG (RFC 2083), JPEG (ITU T.81), GIF89a, WebP container,
ID3v2 and MPEG audio headers, RFC 9639 (FLAC), RFC 3533 (Ogg), ISO 32000 (PDF).
"""

from __future__ import annotations

import struct
import zlib

from msgspec import Struct

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
AUDIO = ("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac")

PDF = "application/pdf"
PLAIN = "text/plain"
BINARY = "application/octet-stream"

MAX_SIDE = 16_384
"""Longest side of an image, in pixels: a few bytes can claim a picture that fills a memory."""

MAX_PIXELS = 100_000_000

_SAME = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/x-flac": "audio/flac",
}

_TEXT_TYPES = {
    "csv": "text/csv",
    "htm": "text/html",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "svg": "image/svg+xml",
    "tsv": "text/tab-separated-values",
    "xml": "application/xml",
}
"""The types of texts, by the ending of their names: their bytes look alike."""

_CONTROLS = bytes({*range(32), 127} - {9, 10, 12, 13, 27})


class Pixels(Struct, frozen=True):
    """The size of an image."""

    width: int
    height: int


def sniffed(data: bytes, name: str = "") -> str:
    """Return the media type of some bytes; ``name`` only tells texts apart."""
    for kind, found in (
        ("image/png", data.startswith(b"\x89PNG\r\n\x1a\n")),
        ("image/jpeg", data.startswith(b"\xff\xd8\xff")),
        ("image/gif", data.startswith((b"GIF87a", b"GIF89a"))),
        ("image/webp", data.startswith(b"RIFF") and data[8:12] == b"WEBP"),
        (PDF, data.startswith(b"%PDF-")),
        ("audio/wav", data.startswith(b"RIFF") and data[8:12] == b"WAVE"),
        ("audio/ogg", data.startswith(b"OggS")),
        ("audio/flac", data.startswith(b"fLaC")),
        ("audio/mpeg", data.startswith(b"ID3") or _is_mpeg(data)),
    ):
        if found:
            return kind
    if not is_text(data):
        return BINARY
    return _TEXT_TYPES.get(name.rpartition(".")[2].lower(), PLAIN)


def is_textual(media_type: str) -> bool:
    """Whether attachments of a type are texts."""
    return media_type.startswith("text/") or media_type in _TEXT_TYPES.values()


def normal(media_type: str) -> str:
    """Return the usual name of a media type, without parameters."""
    plain = media_type.partition(";")[0].strip().lower()
    return _SAME.get(plain, plain)


def is_text(data: bytes) -> bool:
    """Whether some bytes are UTF-8 without control characters that no text has."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return len(data.translate(None, _CONTROLS)) == len(data)


def _is_mpeg(data: bytes) -> bool:
    """Whether the bytes begin with a frame of MPEG audio: sync, a layer, a bit rate, a rate."""
    if len(data) < 4 or data[0] != 0xFF or data[1] & 0xE0 != 0xE0:
        return False
    version, layer = data[1] >> 3 & 3, data[1] >> 1 & 3
    return version != 1 and layer != 0 and data[2] >> 4 != 15 and data[2] >> 2 & 3 != 3


def pixels_of(data: bytes, media_type: str) -> Pixels | None:
    """Return the size of an image, or None if it is not one of this type, whole in outline."""
    try:
        found = _READERS[media_type](data)
    except (IndexError, struct.error):
        return None
    return found if found and found.width > 0 and found.height > 0 else None


def _png(data: bytes) -> Pixels | None:
    """The header is the first chunk, its checksum holds, and the chunks lead to the last one."""
    width, height = struct.unpack(">II", data[16:24])
    (checksum,) = struct.unpack(">I", data[29:33])
    if data[8:16] != b"\0\0\0\rIHDR" or zlib.crc32(data[12:29]) != checksum:
        return None
    at = 33
    while data[at + 4 : at + 8] != b"IEND":
        (length,) = struct.unpack(">I", data[at : at + 4])
        at += 12 + length
    return Pixels(width, height)


def _jpeg(data: bytes) -> Pixels | None:
    """Segments lead from the start to the frame header; the end marker comes after it."""
    at = 2
    while True:
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Pixels(width, height) if data.find(b"\xff\xd9", at) > 0 else None
        if marker == 0xDA or length < 2:
            return None
        at += 2 + length


def _gif(data: bytes) -> Pixels | None:
    """The screen is followed by a block, and the file ends with the trailer."""
    width, height = struct.unpack("<HH", data[6:10])
    table = 3 * 2 ** ((data[10] & 7) + 1) if data[10] & 0x80 else 0
    whole = data[13 + table] in (0x21, 0x2C) and data.rstrip(b"\0")[-1] == 0x3B
    return Pixels(width, height) if whole else None


def _webp(data: bytes) -> Pixels | None:
    """The container is as long as it says; the size is in its first chunk."""
    (size,) = struct.unpack("<I", data[4:8])
    if size + 8 > len(data):
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return Pixels(
            int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        )
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return Pixels((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return Pixels(width & 0x3FFF, height & 0x3FFF)
    return None


_READERS = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
