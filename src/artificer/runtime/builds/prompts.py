"""The instructions of the loops: the built-in ones, or replacements by a user or a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from artificer import builds
from artificer.builds.prompt import FILES
from artificer.errors import ConfigError
from artificer.system.files import packaged
from artificer.system.regular_file import read_regular

MAX_BYTES = 64 * 1024
"""Largest file of instructions that is read."""

FOLDER = "prompts"
"""Where a user's or a project's own are: ``$ARTIFICER_HOME/prompts``, ``.artificer/prompts``."""


def load_prompts(folders: Sequence[Path] = ()) -> dict[str, str]:
    """Read all instructions. A file in an earlier folder replaces one in a later.

    ``folders`` need not exist: the project's comes first, then the user's.

    Raises:
        ConfigError: a file cannot be read, is empty or too long, or has a name that no run uses.
    """
    texts = {name: _package(name) for name in FILES}
    for folder in reversed(folders):
        for file in sorted(folder.glob("*")) if folder.is_dir() else ():
            if file.name not in texts:
                raise ConfigError(
                    f"{file} is not an instruction file.", hint=f"Known: {', '.join(FILES)}."
                )
            texts[file.name] = _read(file)
    return texts


def _package(name: str) -> str:
    return packaged(builds, "prompts", name)


def _read(file: Path) -> str:
    try:
        data = read_regular(file, MAX_BYTES) or b""
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} cannot be read: {error}.", hint="Check its permissions, and that it is UTF-8."
        ) from error
    if not text.strip():
        raise ConfigError(
            f"{file} must hold 1 to {MAX_BYTES} bytes of instructions.",
            hint="Write instructions into it, or remove it to use the built-in ones.",
        )
    return text
