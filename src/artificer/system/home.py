"""The home folder of the user, who may have none: a container's user is often only a number."""

from __future__ import annotations

import os
from pathlib import Path

NONE = Path("/nonexistent")
"""The home of a user without one, as Debian names it. Nothing is below it."""


def user_home() -> Path:
    """Return the home folder of this process's user."""
    try:
        return Path.home()
    except RuntimeError:
        return NONE


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with the home folder for ``~``. That of an unknown user stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
