"""The names of files: paths that every reader's system takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from artificer.artifacts.names import is_device
from artificer.values.base import Problem

MAX_NAME = 160
MAX_SEGMENT = 48
MAX_SEGMENTS = 5

_CHARS = "[A-Za-z0-9._-]"
_FIRST = "[A-Za-z0-9_-]"
NAME_PATTERN = (
    rf"^({_FIRST}{_CHARS}{{0,{MAX_SEGMENT - 1}}}/){{0,{MAX_SEGMENTS - 1}}}"
    rf"{_FIRST}({_CHARS}{{0,{MAX_SEGMENT - 4}}}\.[mM][dD]"
    rf"|{_CHARS}{{0,{MAX_SEGMENT - 5}}}\.[tT][xX][tT])$"
)
"""At most five segments of at most 48 characters; the last ends in ``.md`` or ``.txt``.

A segment does not begin with a dot: ``..`` would leave the folder and ``.name`` would be a
hidden file. Names are stored unchanged or refused, so that a citation always matches.
"""


def not_on_windows(name: str) -> Iterator[Problem]:
    """Yield why Windows, where a reader may save the file, would refuse its name."""
    parts = name.split("/")
    if any(map(is_device, parts)):
        fault = "has a part that is a device on Windows"
    elif any(part.endswith(".") for part in parts):
        fault = "has a folder that ends in a dot, which Windows leaves out"
    else:
        return
    message = f"{fault}: use this name instead"
    yield Problem(pointer="/name", message=message, limit=canonical_name(name), actual=name)


def canonical_name(name: str) -> str:
    """Return the nearest acceptable name, or "" if nothing of ``name`` can be kept."""
    parts = [re.sub(r"[^A-Za-z0-9._-]+", "_", part) for part in name.replace("\\", "/").split("/")]
    kept = [_portable(cut) for part in parts if (cut := part.strip("_").strip(".").strip("_."))]
    if not kept:
        return ""
    *folders, leaf = kept
    stem, dot, ending = leaf.rpartition(".")
    if not dot or ending.lower() not in ("md", "txt"):
        stem, ending = leaf, "md"
    leaf = f"{stem[: MAX_SEGMENT - len(ending) - 1]}.{ending}"
    segments = [folder[:MAX_SEGMENT].rstrip(".") for folder in folders[: MAX_SEGMENTS - 1]]
    while segments and len("/".join([*segments, leaf])) > MAX_NAME:
        segments.pop()
    return "/".join([*segments, leaf])


def _portable(part: str) -> str:
    """Return the part of a path, with a digit appended if it is a device name on Windows."""
    stem, dot, rest = part.partition(".")
    return f"{stem}-1{dot}{rest}" if is_device(part) else part
