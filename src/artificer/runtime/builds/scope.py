"""Which changed files of a worktree are committed: those in scope that are what they seem."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from artificer.artifacts.names import is_gits_head, path_fault
from artificer.builds.prompt import EVERYTHING

MAX_FILE = 5 * 1024 * 1024
"""Largest file that a build commits."""


@dataclass(frozen=True)
class Sorted:
    """Changed files: those to commit, those outside the scope, those refused with the reason."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]


def sort_changes(root: Path, changed: Iterable[str], scope: Iterable[str]) -> Sorted:
    """Check changed paths against a scope of files and folders."""
    entries = [entry.rstrip("/") for entry in scope]
    inside: list[str] = []
    outside: list[str] = []
    refused: list[tuple[str, str]] = []
    for path in sorted(set(changed)):
        bare = path.rstrip("/")
        if not any(_covers(entry, bare) for entry in entries):
            outside.append(path)
        elif reason := _fault(root, path):
            refused.append((path, reason))
        else:
            inside.append(path)
    return Sorted(tuple(inside), tuple(outside), tuple(refused))


def _covers(entry: str, path: str) -> bool:
    return entry in (EVERYTHING, path) or path.startswith(f"{entry}/")


def present(root: Path, scope: Iterable[str]) -> list[str]:
    """The files that a scope names one by one and that are there, ignored by git or not."""
    return [path for path in scope if not path.endswith("/") and _is_file(root / path)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file here could have
        return False


def _fault(root: Path, path: str) -> str | None:
    """Why a path of a worktree is not committed, or None. What was deleted is fine."""
    if path.endswith("/"):
        return "is a repository of its own"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "has a name that is no UTF-8"
    if fault := path_fault(path):
        return fault
    *folders, _ = path.split("/")
    place = root
    for folder in folders:
        place = place / folder
        if place.is_symlink():
            return "is behind a symbolic link"
    return _file_fault(root, root / path)


def _file_fault(root: Path, file: Path) -> str | None:
    try:
        found = file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(found.st_mode):  # instead of a file: its own files are listed too
        return None
    if is_gits_head(file.name):
        return "could make git take its folder for a repository, and run its programs"
    return _entry_fault(root, file, found)


def _entry_fault(root: Path, file: Path, found: os.stat_result) -> str | None:
    if stat.S_ISLNK(found.st_mode):
        return None if _stays(root, file) else "is a symbolic link that leads out of the project"
    if not stat.S_ISREG(found.st_mode):
        return "is no regular file"
    if found.st_size > MAX_FILE:
        return f"has {found.st_size} bytes; {MAX_FILE} are committed at most"
    return None


def _stays(root: Path, link: Path) -> bool:
    """Whether a link leads to a place in the project, by its own text, wherever that is read.

    Only its beginning may go up: after a name, which may be another link, ``..`` is anywhere.
    """
    target = link.readlink()
    names = tuple(dropwhile(lambda part: part == "..", target.parts))
    up = len(target.parts) - len(names)
    above = len(link.parent.relative_to(root).parts)
    return up <= above and (not names or path_fault("/".join(names)) is None)
