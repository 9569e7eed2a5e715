"""The operator's grants to programs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

SandboxMode = Literal["off", "auto", "required"]


class Grants(Struct, frozen=True):
    """The operator's grants to the programs of manifests, from ``[sandbox]``.

    ``writable`` and ``readable`` are relative to the folder that programs run in. ``kept`` stays
    read only wherever the sandbox can see to it.
    """

    mode: SandboxMode = "off"
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = False
    kept: tuple[Path, ...] = ()
