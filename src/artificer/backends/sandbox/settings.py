"""The settings of the sandbox: ``[sandbox]`` of ``artificer.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from artificer.backends.settings import BackendSettings


class SandboxConfig(BackendSettings):
    """``[sandbox]``: what holds the programs of manifests, and what it grants them.

    ``off`` is none, ``auto`` one that works here, if any does, ``required`` one or no run at all.
    """

    mode: Literal["off", "auto", "required"] = "off"
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = False
