"""Toolchains in a home: where version managers keep them, and which a sandbox hides.

A sandbox shows the system's folders. What a manager put into the home is granted for reading, for
these folders hold programs and no credentials. What lies elsewhere is named when it is missed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

MANAGERS: tuple[str, ...] = (
    ".pyenv", ".nvm", ".fnm", ".local/share/fnm", ".volta", ".asdf", ".local/share/mise",
    ".rbenv", ".nodenv", ".goenv", ".jenv", ".phpenv", ".sdkman", ".local/share/uv/python",
    ".local/share/uv/tools", ".rustup", ".cargo/bin", ".deno/bin", ".bun/bin", "go/bin", "sdk",
    "miniconda3", "anaconda3", "miniforge3", ".linuxbrew",
)  # fmt: skip
"""Folders of a home in which version managers keep programs."""

PROGRAMS: tuple[str, ...] = (
    "python", "python3", "pip", "pytest", "tox", "nox", "uv", "poetry", "ruff", "mypy", "node",
    "npm", "npx", "pnpm", "yarn", "bun", "deno", "tsc", "jest", "cargo", "rustc", "go", "ruby",
    "bundle", "java", "mvn", "gradle", "dotnet", "php", "composer", "make", "cmake", "gcc", "cc",
)  # fmt: skip
"""Programs that checks are made of."""


def toolchains(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """The folders of version managers that PATH leads into."""
    return _toolchains(env.get("PATH", ""), home)


@lru_cache(maxsize=16)
def _toolchains(search_path: str, home: Path) -> tuple[Path, ...]:
    return tuple(_found_below(home, [Path(e) for e in search_path.split(os.pathsep) if e]))


def _found_below(home: Path, entries: Sequence[Path]) -> Iterator[Path]:
    for name in MANAGERS:
        root = home / name
        if any(entry.is_relative_to(root) for entry in entries):
            yield root
            if name == ".cargo/bin":
                yield home / ".rustup"


def variables(env: Mapping[str, str], home: Path) -> dict[str, str]:
    """Variables by which toolchains are found though a sandbox has another home."""
    rustup = home / ".rustup"
    if "RUSTUP_HOME" in env or rustup not in toolchains(env, home):
        return {}
    return {"RUSTUP_HOME": str(rustup)}


def hidden(output: str, env: Mapping[str, str], visible: Iterable[Path]) -> list[tuple[str, Path]]:
    """The programs that an output says are missing, and that a sandbox hides: with their places."""
    shown = tuple(visible)
    found = []
    for program in PROGRAMS:
        if not _is_missed(program, output):
            continue
        place = shutil.which(program, path=env.get("PATH", os.defpath))
        if place is not None and not _is_shown(Path(place), shown):
            found.append((program, Path(place)))
    return found


def _is_missed(program: str, output: str) -> bool:
    name = re.escape(program)
    missed = (
        rf"(?m)(?:^|[\s:'\"/]){name}['\"]?: (?:\d+: )?(?:command not found|not found|No such file)"
    )
    other = rf"(?:not found|No such file or directory)[^\n]*[:\s'\"]{name}['\"]?\s*$"
    return bool(re.search(missed, output) or re.search(other, output, re.MULTILINE))


def _is_shown(place: Path, visible: tuple[Path, ...]) -> bool:
    """Whether a program and what it leads to can be seen."""
    return all(
        any(path.is_relative_to(folder) for folder in visible) for path in (place, place.resolve())
    )
