"""The rules of a confined program: it reaches the system's programs, its folder and its grants."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from artificer.system.home import expanded

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store",
)  # fmt: skip
"""Folders of the system: programs, their libraries and their settings."""

_NAMES = "/etc/resolv.conf"
"""Often a link to a file that is not below ``/etc``."""


@dataclass(frozen=True)
class Rules:
    """The absolute paths that a program may reach; a path that does not exist is skipped.

    ``kept`` is read only although it lies in a writable folder. ``scratch`` is a folder for
    temporary files. A program begins in ``cwd``.
    """

    readable: tuple[Path, ...]
    writable: tuple[Path, ...]
    scratch: Path
    cwd: Path
    network: bool = False
    kept: tuple[Path, ...] = ()


def system_folders(*, network: bool) -> Iterator[Path]:
    """Where programs and what they need lie; this Python too, so that it can be a program."""
    yield from map(Path, SYSTEM)
    yield from (Path(sys.prefix), Path(sys.base_prefix))
    if network:
        yield Path(_NAMES)


def paths(found: Iterable[str | os.PathLike[str]], root: Path) -> tuple[Path, ...]:
    """Absolute paths, each under the name that was given and under its real one."""
    named = [root / expanded(path) for path in found]
    real = [path.resolve() for path in named]
    return tuple(dict.fromkeys(Path(os.path.normpath(path)) for path in (*named, *real)))


def within(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path is one of these folders, or in one."""
    return any(path.is_relative_to(folder) for folder in folders)
