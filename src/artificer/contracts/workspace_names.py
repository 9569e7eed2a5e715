"""Names and paths of workspaces, and the names that files have outside them.

A path is relative, its segments joined by ``/``; none is empty, ``.`` or ``..``. A folder may hold
files whose names are not segments. They become ``~`` and the hexadecimal digits of their bytes, and
the way back is exact: :func:`segment_of` and :func:`file_name_of` are each other's inverse.
"""

from __future__ import annotations

import re

MAX_NAME = 64
MAX_SEGMENT = 512
"""Twice the 255 bytes that file systems give to a name, and the ``~``."""

MAX_PATH = 2048
MAX_DEPTH = 64

MARK = ".artificer-workspace.json"
"""Where a folder remembers what was checked out into it. It is never committed."""

FRESH_MARK = f"{MARK}.new"
"""A mark that is being written."""

_CHARACTERS = re.compile(r"[A-Za-z0-9._~-]+")
_ENCODED = re.compile(r"~((?:[0-9a-f]{2})+)")
_LONGEST_FILE_NAME = 255


def name_fault(name: str) -> str | None:
    """Return the reason why a text cannot be a workspace's name, or None."""
    if len(name) > MAX_NAME:
        return f"has more than {MAX_NAME} characters"
    if not _is_segment(name):
        return "must be letters, digits and . _ ~ - only, and not . or .."
    return None


def path_fault(path: str) -> str | None:
    """Return the reason why a text cannot be the path of a file or directory, or None."""
    if len(path) > MAX_PATH:
        return f"has more than {MAX_PATH} characters"
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        return f"is deeper than {MAX_DEPTH} directories"
    for part in parts:
        if part == "":
            return "must be relative, without empty segments or a slash at its end"
        if part in (".", ".."):
            return "must not hold . or .. as a segment"
        if not _is_segment(part):
            return "must hold only letters, digits and . _ ~ - between its slashes"
    return None


def is_mark(path: str) -> bool:
    """Whether a path is the place of a folder's mark, or lies below it."""
    return path.partition("/")[0] in (MARK, FRESH_MARK)


def within(path: str, prefix: str) -> bool:
    """Whether a path is ``prefix`` or lies below it. Everything lies below the empty one."""
    return not prefix or path == prefix or path.startswith(f"{prefix}/")


def segment_of(name: bytes) -> str:
    """The segment for a file's name in a folder."""
    return f"~{name.hex()}" if _needs_encoding(name) else name.decode("ascii")


def file_name_of(segment: str) -> bytes:
    """The name that a segment's file has in a folder. It never leads out of the folder."""
    return _decoded(segment) or segment.encode("ascii")


def _is_segment(text: str) -> bool:
    return (
        len(text) <= MAX_SEGMENT and _CHARACTERS.fullmatch(text) is not None and not _is_dots(text)
    )


def _is_dots(text: str) -> bool:
    return text in (".", "..")


def _needs_encoding(name: bytes) -> bool:
    text = name.decode("ascii", "replace")
    return not _is_segment(text) or _decoded(text) is not None


def _decoded(segment: str) -> bytes | None:
    """The file name that a segment encodes; None for one that stands for itself."""
    found = _ENCODED.fullmatch(segment)
    if found is None:
        return None
    name = bytes.fromhex(found[1])
    if len(name) > _LONGEST_FILE_NAME or b"/" in name or b"\0" in name or name in (b".", b".."):
        return None  # no file is called so, and following it would leave the folder
    return name if _needs_encoding(name) else None
