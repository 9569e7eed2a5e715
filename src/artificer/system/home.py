"""The home folder of the user, and the working directory: a process may have neither.

The user of a container is often only a number.
"""

from __future__ import annotations

import os
from pathlib import Path

from artificer.errors import ConfigError

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


def working_directory() -> Path:
    """Return the working directory. Raises ConfigError where it is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(
            f"The working directory cannot be found: {error.strerror}. It may have been removed.",
            hint="Change to a folder that exists.",
        ) from error
