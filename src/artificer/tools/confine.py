"""Holding arguments that name files inside the tools' folder, whatever symbolic links say.

The program opens the file later and by itself: who can change links in the folder meanwhile is
not held. Keep what others may write out of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from artificer.contracts.arguments.types import FILES, Argument
from artificer.values.base import JsonValue, Problem


def file_problems(
    arguments: Sequence[Argument], values: Mapping[str, JsonValue], root: Path
) -> Iterator[Problem]:
    """What is wrong with the files that bound values name, once links are followed.

    ``root`` must be resolved. A credential file must be there, a regular file of its own name that
    we can read.
    """
    for argument in arguments:
        if argument.type in FILES and argument.name in values:
            for value in argument.each(values[argument.name]):
                reason = _outside(root, str(value))
                if reason is None and argument.type == "credential_file":
                    reason = _no_credential(root / str(value))
                if reason:
                    yield Problem(pointer=f"/{argument.name}", message=reason)


def _outside(root: Path, path: str) -> str | None:
    try:
        inside = (root / path).resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of symbolic links
        inside = False
    return None if inside else "leads out of the folder of the tools"


def _no_credential(path: Path) -> str | None:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "is not there"
    if not stat.S_ISREG(mode):
        return "is not a regular file"
    return None if os.access(path, os.R_OK) else "cannot be read"
