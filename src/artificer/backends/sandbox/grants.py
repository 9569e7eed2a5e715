"""The operator's grants to programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SandboxMode = Literal["off", "auto", "required"]


@dataclass(frozen=True)
class Grants:
    """The operator's grants to the programs of manifests, from ``[sandbox]``.

    ``writable`` and ``readable`` are relative to the folder that programs run in. ``kept`` stays
    read only wherever the sandbox can see to it.
    """

    mode: SandboxMode = "off"
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = False
    kept: tuple[Path, ...] = ()
