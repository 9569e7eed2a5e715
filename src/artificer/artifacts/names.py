"""Names and paths chosen by a model that become folders, branches and files.

A name is kebab-case, so that it is the same in a path, in a branch and on any file system. A
path stays inside the folder it is relative to and outside ``.git``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Annotated
from unicodedata import category, normalize

from artificer.artifacts.fields import repeats
from artificer.values.base import JsonValue, Meta, Problem

MAX_NAME = 48
MAX_PATH = 240

NAME_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"

KebabName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_NAME,
        pattern=NAME_PATTERN,
        description="Its name, in kebab-case, such as user-auth.",
    ),
]

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{device}{digit}" for device in ("com", "lpt") for digit in range(1, 10)}
)
"""Names that Windows reserves for devices, with any extension."""

RESERVED = _DEVICES | {"head"}
"""Names with a special meaning for some file system or for git."""

_SEPARATORS = re.compile(r"[^0-9a-z]+")


def is_device(part: str) -> bool:
    """Return whether Windows reads a part of a path as a device, such as ``con`` or ``Nul .md``.

    COM¹, COM² and COM³ count as COM1, COM2 and COM3.
    """
    stem = normalize("NFKC", part).casefold().partition(".")[0]
    return stem.rstrip(" ") in _DEVICES


def normal_name(name: str) -> str:
    """Return the nearest kebab-case name, without case, compatibility forms and accents."""
    plain = normalize("NFKD", normalize("NFKC", name).casefold())
    kept = "".join(c for c in plain if category(c) not in ("Mn", "Cf"))
    return _SEPARATORS.sub("-", kept).strip("-")[:MAX_NAME].strip("-")


def name_problems(values: list[JsonValue], pointers: list[str], what: str) -> Iterator[Problem]:
    """Yield problems for unusable names and for names with the same normal form."""
    for value, pointer in zip(values, pointers, strict=True):
        if isinstance(value, str):
            yield from _name_problems(value, pointer)
    yield from repeats(
        values,
        pointers,
        what,
        key=lambda name: normal_name(name) or name,
        rule="case and separators count for nothing",
    )


def _name_problems(name: str, pointer: str) -> Iterator[Problem]:
    if name in RESERVED:
        yield Problem(pointer=pointer, message="is a reserved word: choose another", actual=name)
    elif not re.fullmatch(NAME_PATTERN[1:-1], name):  # the schema reports it too
        suggestion = normal_name(name)
        if suggestion and suggestion not in RESERVED:
            yield Problem(pointer=pointer, message="use this name instead", limit=suggestion)


def path_problems(value: JsonValue, pointer: str, *, folders: bool = False) -> Iterator[Problem]:
    """Yield why a path is refused. With ``folders`` it may end in a slash."""
    if isinstance(value, str) and value and (reason := path_fault(value, folders=folders)):
        yield Problem(pointer=pointer, message=reason, actual=value[:80])


def path_fault(path: str, *, folders: bool = False) -> str | None:
    """Return why a path cannot name a file inside a project, or None if it can."""
    bare = path[:-1] if folders and path.endswith("/") else path
    return next((reason for reason, broken in _PATH_RULES if broken(bare, bare.split("/"))), None)


def _has_control(path: str, parts: list[str]) -> bool:
    return any(category(c)[0] == "C" or category(c) in ("Zl", "Zp") for c in path)


def _is_loose(path: str, parts: list[str]) -> bool:
    return any(part != part.strip() or part.endswith(".") for part in parts)


def is_gits(part: str) -> bool:
    """Return whether a file system reads this part as ``.git``, or it is a file of git's own.

    HFS+ ignores format characters and NTFS ignores case; ``git~1`` is the short name of
    ``.git``. A ``.gitmodules`` file would make git fetch other content.
    """
    plain = _plain(part)
    return plain in (".git", "git~1", ".gitmodules") or plain.startswith(".git ")


def is_gits_head(part: str) -> bool:
    """Return whether a file system reads this part as ``HEAD``.

    Git takes a folder with that file, ``objects`` and ``refs`` for a repository, without any
    ``.git``, and runs the programs that the file ``config`` next to them names.
    """
    return _plain(part) == "head"


def _plain(part: str) -> str:
    return "".join(c for c in normalize("NFKC", part) if category(c) != "Cf").casefold()


_PATH_RULES: tuple[tuple[str, Callable[[str, list[str]], bool]], ...] = (
    (f"is longer than {MAX_PATH} characters", lambda path, parts: len(path) > MAX_PATH),
    ("holds a control character", _has_control),
    (
        "must have slashes only: no backslash and no colon",
        lambda path, parts: "\\" in path or ":" in path,
    ),
    (
        "must name one file or folder: wildcards are not understood",
        lambda path, parts: any(c in "*?" for c in path),
    ),
    (
        "must be relative to the project's folder, and not begin with ~ or -",
        lambda path, parts: path.startswith(("/", "~", "-")),
    ),
    (
        "must not have empty parts, '.' or '..' in it",
        lambda path, parts: any(part in ("", ".", "..") for part in parts),
    ),
    ("must not have parts that begin or end with a space, or end with a dot", _is_loose),
    ("must not lead into .git", lambda path, parts: any(map(is_gits, parts))),
    (
        "has a part that is a device's name on some systems",
        lambda path, parts: any(map(is_device, parts)),
    ),
)
"""The faults of a path, in the order of their checks."""
