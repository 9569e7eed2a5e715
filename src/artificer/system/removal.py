"""Removing folders into which programs wrote: they may have taken away the right to change them."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_NO_FAULT = (errno.ENOENT, errno.ENOTEMPTY)
"""It is gone already; or it holds something else that could not be removed."""


_SHOWN = 5


def remove_folder(folder: Path) -> list[str]:
    """Remove a folder with all that is in it, if it is there; return what is left of it, and why.

    Folders that may not be changed, as in a cache of Go's modules, are made writable before. No
    link is followed. It may be repeated.
    """
    left = _remove(folder)
    if left:
        _make_writable(folder)
        left = _remove(folder)
    return left


def in_short(left: Sequence[str]) -> str:
    """Return a sentence about what is left of folders: of much, the beginning."""
    more = f"; and {len(left) - _SHOWN:,} more" if len(left) > _SHOWN else ""
    return f"{'; '.join(left[:_SHOWN])}{more}."


def _remove(folder: Path) -> list[str]:
    """Remove all that can be removed."""
    left: list[str] = []

    def failed(path: str, error: BaseException) -> None:
        if not (isinstance(error, OSError) and error.errno in _NO_FAULT):
            why = error.strerror if isinstance(error, OSError) else None
            left.append(f"{path}: {why or error}")

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=lambda _, path, error: failed(path, error))
    else:
        shutil.rmtree(folder, onerror=lambda _, path, raised: failed(path, raised[1]))
    return left


def _make_writable(folder: Path) -> None:
    """Give the owner every right on a folder and on those in it, each before it is read."""
    if folder.is_symlink():
        return
    with suppress(OSError):
        folder.chmod(0o700)
    for place, names, _ in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
