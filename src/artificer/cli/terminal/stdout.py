"""The stream of a command's data. ``--help`` imports this file: keep it light."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from artificer.cli.terminal.exits import ReaderGone

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def data_stream(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream that writes to the same file, all of it, and raises ReaderGone.

    With PYTHONUNBUFFERED, what is written is still seen at once.
    """
    at_once = isinstance(stream.buffer, io.RawIOBase)
    raw = io.FileIO(stream.fileno(), "w", closefd=False)  # that of the stream may be closed with it
    return io.TextIOWrapper(
        _Data(raw, at_once=at_once),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=at_once,
    )


class _Data(io.BufferedWriter):
    """Writes all that it is given to a raw file. Raises ReaderGone where its reader is gone.

    A raw file returns how much of it was written, which ``TextIOWrapper`` does not look at: on a
    full disk, or in a pipe whose reader goes meanwhile, the rest would be lost without an error.
    """

    def __init__(self, raw: io.RawIOBase, *, at_once: bool) -> None:
        super().__init__(raw)
        self._at_once = at_once

    def write(self, data: ReadableBuffer, /) -> int:
        """Take all of the data. Raises ReaderGone, OSError."""
        with _reader():
            count = super().write(data)
        if self._at_once:
            self.flush()
        return count

    def flush(self) -> None:
        """Write what was held back. Raises ReaderGone, OSError."""
        with _reader():
            super().flush()


@contextmanager
def _reader() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone from error
