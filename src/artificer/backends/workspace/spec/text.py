"""Differences of a text file, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from artificer.backends.workspace.spec.tree import Directory, Fetch, TreeChange, TreeFile
from artificer.values.text import split_lines

MAX_BYTES = 256 * 1024
MAX_LINES = 5_000
"""Beyond them a file is not compared: the time would grow with the square of its lines."""


def unified(fetch: Fetch, change: TreeChange) -> Iterator[str]:
    """The unified diff of a changed file, or one line that says why there is none."""
    old, new = _lines(fetch, change.before), _lines(fetch, change.after)
    if isinstance(old, str) or isinstance(new, str):
        yield f"({old if isinstance(old, str) else new})"
        return
    yield from difflib.unified_diff(
        old, new, f"a/{change.path}", f"b/{change.path}", n=3, lineterm=""
    )


def _lines(fetch: Fetch, entry: TreeFile | Directory | None) -> list[str] | str:
    if entry is None:
        return []
    if isinstance(entry, Directory):
        return "an empty directory"
    if entry.size > MAX_BYTES:
        return "too large to compare"
    try:
        text = fetch(entry.digest).decode()
    except UnicodeDecodeError:
        return "not text"
    lines = split_lines(text)
    return "too many lines to compare" if len(lines) > MAX_LINES else lines
