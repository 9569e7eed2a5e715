"""Keeping file arguments inside the tools' folder, whatever symbolic links say.

The program opens the file later and by its name: who can change links in the folder between the
check and that is not held by this, but by the sandbox (``docs/guides/sandbox.md``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from artificer.backends.process.beneath import opened_beneath
from artificer.contracts.arguments.types import FILES, Argument, begins_option, text_of
from artificer.values.base import JsonValue, Problem

_OUTSIDE = "leads out of the folder of the tools"


def file_problems(
    arguments: Sequence[Argument], values: Mapping[str, JsonValue], root: Path
) -> Iterator[Problem]:
    """Yield the problems of the files that bound values name, once links are followed.

    ``root`` must be resolved. A credential file must be there, a regular file of its own name that
    we can read.
    """
    for argument in arguments:
        if argument.type in FILES and argument.name in values:
            for value in argument.each(values[argument.name]):
                reason = _fault(root, str(value), argument.type)
                if reason:
                    yield Problem(pointer=f"/{argument.name}", message=reason)


def folder_problem(root: Path, path: str) -> str | None:
    """Return why a path is not a folder in ``root``, or None."""
    try:
        with opened_beneath(root, path) as descriptor:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            return None if is_folder else "is not a folder"
    except (FileNotFoundError, NotADirectoryError):
        return "is not there" if _stays(root, path) else _OUTSIDE
    except (OSError, RuntimeError, ValueError):
        return _OUTSIDE


def _fault(root: Path, path: str, kind: str) -> str | None:
    """Return a path's fault, or None. The program may create a path that does not exist."""
    credential = kind == "credential_file"
    try:
        with opened_beneath(root, path, follow=not credential) as descriptor:
            return _no_credential(descriptor, root / path) if credential else None
    except (FileNotFoundError, NotADirectoryError):
        if not _stays(root, path):
            return _OUTSIDE
        return "is not there" if credential else None
    except (OSError, RuntimeError, ValueError):
        return _OUTSIDE


def _stays(root: Path, path: str) -> bool:
    """Whether a path that leads nowhere would lead nowhere outside."""
    try:
        return (root / path).resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of symbolic links
        return False


def _no_credential(descriptor: int, path: Path) -> str | None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return "is not a regular file"
    return None if os.access(path, os.R_OK) else "cannot be read"


def option_problems(
    arguments: Sequence[Argument], values: Mapping[str, JsonValue]
) -> Iterator[Problem]:
    """The values that a script could hand on as options without knowing it."""
    for argument in arguments:
        for value in argument.each(values.get(argument.name, "")):
            if begins_option(argument, text_of(value)):
                yield Problem(pointer=f"/{argument.name}", message="must not begin with '-'")
