"""The stream of a command's data. ``--help`` imports this file: keep it light."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class AtOnce(io.BufferedWriter):
    """Holds nothing back, like the raw file below it, but writes all that it is given.

    A raw file returns how much of it was written, which ``TextIOWrapper`` does not look at: on a
    full disk, or in a pipe whose reader goes meanwhile, the rest would be lost without an error.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        """Write all of the data. Raises OSError."""
        count = super().write(data)
        self.flush()
        return count
