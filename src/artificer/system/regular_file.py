"""Reading a file named by others: only if it is regular, and no more of it than requested."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(file: Path, limit: int) -> bytes | None:
    """The bytes of a regular file; None when it has more than ``limit``.

    A pipe or a device is an error: reading one may never end. Raises OSError.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", str(file))
        pieces, size = [], 0
        while size <= limit and (piece := os.read(descriptor, limit + 1 - size)):
            pieces.append(piece)
            size += len(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces) if size <= limit else None
