"""Finding files and lines; expressions run in their own process, which can be ended."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from fnmatch import translate
from functools import lru_cache
from itertools import islice
from pathlib import Path

from artificer.backends.answer import ToolRefusal, page
from artificer.backends.host.folder import Folder, PathParts
from artificer.backends.host.reading import cursor_of, path_of, walk
from artificer.values.base import JsonObject
from artificer.values.text import clip, well_formed

SKIPPED = frozenset({".git"})
MAX_WALKED = 100_000
"""Files that one search looks at."""

MAX_SEARCHED_BYTES = 4 * 1024 * 1024
"""Files that are longer are not searched, and named."""

MAX_SEGMENTS = 64
"""Segments of a glob: each costs time at each segment of each path."""

MAX_LINE = 400
MAX_CHARACTERS = 28_000
NOT_ENDED = "The search did not end in its time:"


class InvalidSearch(ToolRefusal):
    """The call itself is wrong: its expression or its glob is none."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, "invalid")


def glob_of(text: str) -> PathParts:
    """Read a glob as a model wrote it; repeated ``**`` are one. Raises InvalidSearch."""
    parts: list[str] = []
    for part in text.split("/"):
        if part not in ("", ".") and [part, *parts[-1:]] != ["**", "**"]:
            parts.append(part)
    if len(parts) > MAX_SEGMENTS:
        raise InvalidSearch(f"The glob has more than {MAX_SEGMENTS} segments: shorten it.")
    return tuple(parts)


@lru_cache(maxsize=64)
def _segment(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


def matches(parts: PathParts, pattern: PathParts) -> bool:
    """Whether a path matches a glob, segment by segment; ``**`` is any number of directories."""
    reached = {0}
    for part in (*parts, None):
        # ** may stand for nothing: what follows it is reached with it.
        for index in sorted(reached):
            while pattern[index : index + 1] == ("**",) and index + 1 not in reached:
                reached.add(index + 1)
                index += 1
        if part is None:
            return len(pattern) in reached
        reached = {
            index if pattern[index] == "**" else index + 1
            for index in reached
            if index < len(pattern)
            and (pattern[index] == "**" or _segment(pattern[index]).match(part))
        }
    return False


def find_files(
    folder: Folder, parts: PathParts, glob: str, cursor: str, limit: int, seconds: float
) -> JsonObject:
    """The files below a directory whose paths match, page by page. Raises ToolRefusal."""
    pattern, ends = glob_of(glob), time.monotonic() + seconds
    after = tuple(path_of(cursor).split("/")) if cursor else ()

    def is_found(path: PathParts) -> bool:
        if time.monotonic() >= ends:  # in a thread, which nothing else could end
            raise ToolRefusal(f"{NOT_ENDED} narrow it.", "timeout")
        return path > after and matches(path[len(parts) :], pattern)

    files = islice(walk(folder, parts, SKIPPED - {*parts}), MAX_WALKED)
    found = (("/".join(path), size) for path, size in files if is_found(path))
    items = ((cursor_of(path), (path, size)) for path, size in found)

    def tell(_: str, file: tuple[str, int]) -> JsonObject:
        path, size = file
        return {"path": well_formed(path), "size": size}

    return page("files", items, tell, limit)


def compiled(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """A regular expression, which may take long to be made. Raises InvalidSearch if it is none."""
    try:
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidSearch(f"The pattern is no regular expression: {error}.") from error


def find_lines(
    folder: Folder,
    parts: PathParts,
    pattern: re.Pattern[str],
    glob: str,
    context: int,
    limit: int,
) -> str:
    """Return the lines that match, as ``path:line: text``; with context, ``path-line- text``.

    Raises ToolRefusal.
    """
    found: list[str] = []
    matches, size, long = 0, 0, 0
    for path in _searched(folder, parts, glob):
        lines = _lines(folder, path)
        if lines is None:
            long += 1
            continue
        name, last = well_formed("/".join(path)), -1
        for number, line in enumerate(lines):
            if not pattern.search(line):
                continue
            if matches == limit or size > MAX_CHARACTERS:
                found.append(f"(there is more: narrow the search; {matches} matches are shown)")
                return "\n".join(found)
            matches += 1
            start = max(last + 1, number - context)
            if context and found and start > last + 1:
                found.append("--")
            last = min(len(lines) - 1, number + context)
            for shown in range(start, last + 1):
                mark = ":" if shown == number or pattern.search(lines[shown]) else "-"
                text = clip(lines[shown], MAX_LINE)
                found.append(f"{name}{mark}{shown + 1}{mark} {text}")
                size += len(found[-1]) + 1
    if long:
        found.append(f"({long} files are longer than {MAX_SEARCHED_BYTES} bytes: not searched)")
    return "\n".join(found) or "No line matches."


def search(
    folder: str,
    parts: list[str],
    pattern: str,
    ignore_case: bool,
    glob: str,
    context: int,
    limit: int,
) -> str:
    """Find lines: what its own process does, because an expression may take for ever."""
    expression = compiled(pattern, ignore_case=ignore_case)
    return find_lines(Folder(Path(folder)), tuple(parts), expression, glob, context, limit)


def _searched(folder: Folder, parts: PathParts, glob: str) -> Iterator[PathParts]:
    pattern = glob_of(glob)
    for path, _ in islice(walk(folder, parts, SKIPPED - {*parts}), MAX_WALKED):
        below = path[len(parts) :] or path[-1:]
        if not pattern or matches(below, pattern) or matches(below[-1:], pattern):
            yield path


def _lines(folder: Folder, path: PathParts) -> list[str] | None:
    """A file's lines; none for a binary one, or one that may not be read; None for a long one."""
    try:
        content = folder.read(path)
    except ToolRefusal:
        return []
    if len(content.data) > MAX_SEARCHED_BYTES:
        return None
    if b"\0" in content.data[:8192]:
        return []
    return content.data.decode("utf-8", "replace").split("\n")
