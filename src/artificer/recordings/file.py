"""The file format of recordings, which ``docs/reference/recordings.md`` describes.

The file is JSON lines: first ``{"cassette": 2, "run": ..., "state": ..., "head": ...}`` with the
digest of the run's last state and the number and hash of its last record, then ``{"record": body}``
in order, then ``{"blob": text}`` or, for bytes that are not UTF-8, ``{"blob64": base64}``. Every
byte counts: a changed file does not load, does not verify or does not replay to the same state. A
file of format 1 has no head, so nothing covers the bytes of its last record.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from artificer.errors import TamperedError
from artificer.ports import Head
from artificer.values.base import Value

MAX_BYTES = 512 * 1024 * 1024
"""Size of the largest recording that is read, after decompression."""

_LINE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


class RecordingHeader(Value):
    """The first line. ``cassette`` is the number of the format."""

    cassette: Literal[1, 2] = 2
    run: str
    state: str
    head: Head | None = None


def compress(data: bytes) -> bytes:
    """Compress a recording with gzip. The same run always gives the same bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)  # 31: a gzip header, without a name or time
    return packer.compress(data) + packer.flush()


def decompress(data: bytes, limit: int = MAX_BYTES) -> bytes:
    """Decompress a recording to at most ``limit`` bytes. An uncompressed one is returned as it is.

    Raises:
        TamperedError: it is damaged, has data after its end, or is too long.
    """
    if not data.startswith(b"\x1f\x8b"):
        plain, rest = data, b""
    else:
        unpacker = zlib.decompressobj(31)
        try:
            plain = unpacker.decompress(data, limit + 1)
        except zlib.error as error:
            raise TamperedError(
                f"This file is not a recording: {error}.",
                hint="`artificer export RUN` writes recordings.",
            ) from error
        rest = unpacker.unused_data
        if not unpacker.eof and len(plain) <= limit:
            raise TamperedError(
                "This file is not a recording: it is truncated.",
                hint="Copy or export it again: `artificer export RUN`.",
            )
    if len(plain) > limit:
        raise TamperedError(
            f"This recording is longer than {limit:,} bytes, decompressed: it is not read.",
            hint="Read the run in the world that it was exported from, or in a copy of that "
            "world's folder: `artificer --home FOLDER --project NAME replay RUN`.",
        )
    if rest:
        raise TamperedError(
            "This file is not a recording: it has data after its end.",
            hint="Copy or export it again: `artificer export RUN`.",
        )
    return plain


def read_file(path: Path) -> bytes:
    """Return a recording's file, up to one byte more than :func:`read_recording` accepts."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def to_file(lines: Sequence[object]) -> bytes:
    """One line for each, in ASCII, so that no line break hides in a text."""
    return "".join(f"{_LINE.encode(line)}\n" for line in lines).encode()


def blob_line(data: bytes) -> dict[str, str]:
    """The line of a blob."""
    try:
        return {"blob": data.decode()}
    except UnicodeDecodeError:
        return {"blob64": base64.b64encode(data).decode()}


def blob_of(line: dict[str, str]) -> bytes:
    """The blob of a line."""
    if "blob" in line:
        return line["blob"].encode()
    return base64.b64decode(line["blob64"], validate=True)
