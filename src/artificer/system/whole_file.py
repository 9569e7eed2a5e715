"""Writing a file that a person named, so that a failure leaves what was there before."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

_IN_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY}
"""Errors of what may not be replaced, but perhaps be written: in a folder of somebody else, or the
file that a container was given."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole, or leave it as it was; links are followed.

    A file keeps its owner and its mode. A file with several names and what is no regular file, such
    as a pipe, are written in place. Raises OSError, with the name of the file.
    """
    try:
        if _may_be_replaced(path):
            _replace(path, data)
            return
    except OSError as error:
        if error.errno not in _IN_PLACE:
            error.filename = str(path)
            raise
    path.write_bytes(data)


def _may_be_replaced(path: Path) -> bool:
    """Return whether a new file may take this one's place. Raises OSError if it is read-only."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return False
    os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    return True


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside the one that links lead to, and give it its name."""
    target = Path(os.path.realpath(path))
    old = target.stat() if target.exists() else None
    fresh = target.with_name(f".{secrets.token_hex(8)}.artificer")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(fresh, flags, 0o600 if old else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if old:
                os.fchown(handle, old.st_uid, old.st_gid)
                os.fchmod(handle, stat.S_IMODE(old.st_mode))
                os.fsync(handle)  # or a power loss could leave neither the old one nor the new one
        fresh.replace(target)
    except BaseException:  # an interrupt too: no half-written file stays behind
        fresh.unlink(missing_ok=True)
        raise
