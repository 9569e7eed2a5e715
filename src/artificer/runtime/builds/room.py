"""Whether a disk has room for the work of a build."""

from __future__ import annotations

import shutil
from pathlib import Path

from artificer.errors import OperatorError

_LEAST = 1024 * 1024
"""Bytes that are free on a disk that is not full."""


def require_room(folder: Path) -> None:
    """Raise OperatorError if the disk of a folder is full.

    That is nothing an attempt could mend, so it is not one that failed.
    """
    if shutil.disk_usage(folder).free < _LEAST:
        raise OperatorError(
            f"The disk of {folder} is full.", hint="Free some space, and resume the build."
        )
