"""Capturing the output of a stream: its ends in memory, all of it on disk if requested."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from types import TracebackType

from artificer.contracts.evidence import Stream

HEAD_BYTES = 1024 * 1024
"""Bytes kept in memory from the beginning of a stream."""

TAIL_BYTES = 64 * 1024
"""Bytes kept in memory from its end, when it is longer."""

MAX_SPILL = 256 * 1024 * 1024
"""Bytes of a stream that are kept on disk at most; a stream with more is still counted whole."""

PIECE_BYTES = 4 * 1024 * 1024
"""Bytes of one piece of what was kept."""


class Capture:
    """Keeps the head and the tail of a stream, and the hash and the length of all of it.

    With ``spill``, a folder, everything up to MAX_SPILL is kept in a nameless file there, once it
    is more than the head; :meth:`close` (or ``with``) lets go of it.
    """

    def __init__(self, spill: Path | None = None) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._hash = hashlib.sha256()
        self._spill = spill
        self._file: FileIO | None = None
        self._spilled = 0
        self.size = 0

    def take(self, data: bytes) -> None:
        """Take the next bytes."""
        self.size += len(data)
        self._hash.update(data)
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._write(data)
            self._tail += data
            if len(self._tail) > 2 * TAIL_BYTES:  # cut now and then, not at every piece
                del self._tail[:-TAIL_BYTES]

    def _write(self, data: bytes) -> None:
        if self._spill is None:
            return
        room = max(0, MAX_SPILL - HEAD_BYTES - self._spilled)
        written = 0
        try:
            if self._file is None:
                self._file = _nameless(self._spill)
            written = self._file.write(data[:room])
        except OSError:  # a full disk costs the rest of the copy, not the call
            pass
        self._spilled += written
        if written < len(data):
            self._spill = None

    @property
    def digest(self) -> str:
        """Digest of all bytes."""
        return "sha256:" + self._hash.hexdigest()

    @property
    def is_whole(self) -> bool:
        """Whether :meth:`pieces` are all bytes."""
        return len(self._head) + self._spilled == self.size

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes that were kept, from the beginning, in pieces of at most PIECE_BYTES."""
        if self._file is None:
            if self._head:
                yield bytes(self._head)
            return
        self._file.seek(0)
        piece = bytes(self._head) + self._file.read(PIECE_BYTES - len(self._head))
        while piece:
            yield piece
            piece = self._file.read(PIECE_BYTES)

    def stream(self) -> Stream:
        """Return the part in memory as text; bytes that are not UTF-8 become U+FFFD."""
        tail = bytes(self._tail[-TAIL_BYTES:])
        missing = self.size - len(self._head) - len(tail)
        middle = f"\n… {missing} bytes left out …\n".encode() if missing else b""
        text = (bytes(self._head) + middle + tail).decode("utf-8", "replace")
        return Stream(text=text, size=self.size, truncated=bool(missing))

    def close(self) -> None:
        """Close the file. May be called more than once."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _nameless(folder: Path) -> FileIO:
    """A file that is gone when it is closed, and that nobody else can open."""
    descriptor, name = tempfile.mkstemp(dir=folder)
    Path(name).unlink()
    return os.fdopen(descriptor, "w+b", buffering=0)
