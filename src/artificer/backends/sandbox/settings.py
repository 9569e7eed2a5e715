"""The settings of the sandbox: ``[sandbox]`` of ``artificer.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from artificer.values.base import CheckedValue


class SandboxConfig(CheckedValue):
    """``[sandbox]``: what holds the programs of manifests, and what it grants them.

    ``off`` is none, ``auto`` one that works here, if any does, ``required`` one or no run at all.
    Without a mode, it is ``auto`` for builds and ``off`` for other runs.
    """

    mode: Literal["off", "auto", "required"] | None = None
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = False
