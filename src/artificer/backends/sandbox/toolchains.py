"""Toolchains in a user's home: the folders that a program of theirs needs to start.

They hold programs and libraries. Folders with credentials next to them, such as ``~/.cargo``, are
not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

_FOLDERS = (
    *(".pyenv", ".rbenv", ".nodenv", ".nvm", ".volta", ".asdf", ".bun", ".deno/bin", ".sdkman"),
    *(".rustup", ".cargo/bin", "go/bin", ".local/bin", ".local/lib", ".local/pipx", ".linuxbrew"),
    *(".local/share/uv/tools", ".local/share/uv/python", ".local/share/pipx"),
    *(".local/share/mise/installs", ".local/share/mise/shims", ".local/share/fnm"),
    *("miniconda3", "anaconda3", "miniforge3", ".nix-profile"),
)

_NEEDS = {
    ".cargo/bin": (".rustup",),
    ".local/bin": (
        *(".local/lib", ".local/pipx", ".local/share/pipx"),
        *(".local/share/uv/tools", ".local/share/uv/python"),
    ),
}
"""Folders that programs of another one start from."""


def toolchain_folders(program: Iterable[Path], home: Path) -> Iterator[Path]:
    """Yield the folders of the toolchain that a program, under any of its names, belongs to."""
    names = [path for path in program if path.is_relative_to(home)]
    for name in _FOLDERS:
        if any(path.is_relative_to(home / name) for path in names):
            yield from (home / folder for folder in (name, *_NEEDS.get(name, ())))


_VARIABLES = {
    ".pyenv": "PYENV_ROOT",
    ".rbenv": "RBENV_ROOT",
    ".nodenv": "NODENV_ROOT",
    ".volta": "VOLTA_HOME",
    ".asdf": "ASDF_DATA_DIR",
    ".rustup": "RUSTUP_HOME",
    ".sdkman": "SDKMAN_DIR",
}
"""The variables in which toolchains look for their folders, before they look in the home."""


def toolchain_variables(folders: Iterable[Path], home: Path) -> dict[str, str]:
    """Return the variables that name these folders."""
    named = {home / name: variable for name, variable in _VARIABLES.items()}
    return {named[folder]: str(folder) for folder in folders if folder in named}
