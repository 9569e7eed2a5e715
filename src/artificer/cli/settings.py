"""The options before the command's name. ``--help`` imports this file: keep it light."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """The data directory, the project and the log level that a command line names."""

    home: str | None = None
    project: str | None = None
    verbose: bool = False
