"""The options that stand before the command. This file is imported by ``--help``: keep it light."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Settings:
    """What was given before the command's name; None where nothing was."""

    home: str | None = None
    project: str | None = None
    verbose: bool = False


pass_settings = click.make_pass_decorator(Settings)
"""Hands a command its :class:`Settings` as first argument."""
