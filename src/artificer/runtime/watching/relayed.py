"""The messages that a run's process sends to readers in other processes, and where these listen.

A reader listens on its own socket, ``<project>/readers/RUN/NAME``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from artificer.ports import CallProgress
from artificer.values.base import Value, ValueReader
from artificer.values.model import Delta

FOLDER = "readers"

LONGEST = 64_000
"""Bytes of one message; a longer one is dropped."""


class RelayedMessage(Value):
    """One message: a piece of the run, or, without one, that a record was made.

    ``missed`` counts the pieces before it that were dropped. ``seq`` is the number of the last
    record before it.
    """

    seq: int
    missed: int = 0
    delta: Delta | None = None
    progress: CallProgress | None = None


message_reader: ValueReader[RelayedMessage] = ValueReader(RelayedMessage, "the message")


@contextmanager
def short_path(folder: Path) -> Iterator[str]:
    """Yield a short path of a folder: a socket's may have no more than 107 bytes (unix(7))."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
