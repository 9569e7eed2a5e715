"""Space in a journal's write-ahead log, made before commits need it.

To sync a file that became longer takes twice as long as to sync one whose bytes were only replaced,
because its new length is synced as well. SQLite makes its log longer with each commit, until it
begins the log again. So this makes it longer by many commits at once, with zeros. Recovery stops at
the first frame that is not of the log's present round, as zeros are not:
https://sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import os
from pathlib import Path

SMALLEST, LARGEST = 64 * 1024, 1024 * 1024
"""Bytes that are added at once: as many as there are, within these limits."""

PIECE = 64 * 1024
"""Bytes of one write. Linux keeps what one write appends in folios of up to its length, and ext4
goes through all pages of a folio for each of SQLite's small writes into it."""

FRAME = 24 + 4096
"""Bytes of a page of the log, or of two, with the header, which is never all zeros."""


class LogSpace:
    """The log of the journal in the file ``path``. :meth:`close` must be called."""

    def __init__(self, path: Path) -> None:
        self._path = f"{path}-wal"
        self._file = -1
        self._size: int | None = None

    def add(self) -> None:
        """Make the log longer if SQLite has reached its end since the last time.

        Only within a transaction that may write: nobody else writes to the log meanwhile. Where it
        cannot be done, as on a full disk, the commit tells.
        """
        try:
            self._size = self._made_longer()
        except OSError:
            return

    def _made_longer(self) -> int:
        """Make the log longer if it is used up; return its bytes."""
        if self._file < 0:
            self._file = os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        size = os.fstat(self._file).st_size
        if self._size is not None and size > self._size and self._is_used_up(size):
            end = size + min(max(size, SMALLEST), LARGEST)
            while size < end:
                length = min(PIECE - size % PIECE, end - size)
                size += os.pwrite(self._file, bytes(length), size)
        return size

    def _is_used_up(self, size: int) -> bool:
        """Whether the log grew by a commit. Another process may have made it longer as we do."""
        return any(os.pread(self._file, FRAME, max(size - FRAME, 0)))

    def close(self) -> None:
        """Close the log. May be called more than once."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
