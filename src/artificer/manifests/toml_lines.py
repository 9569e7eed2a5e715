"""The line of a key in a TOML file, which the parser does not report."""

from __future__ import annotations

import re

_TABLE = re.compile(r"^\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}")
_KEY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""")
_QUOTED = re.compile(r"""["']""")

Path = tuple[str, ...]


def key_lines(text: str) -> dict[Path, int]:
    """Map the path of each table and key to its line, counted from 1.

    Good enough for messages: a line of a multi-line string that looks like a key is taken for
    one, and only the first place of a path is kept.
    """
    found: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TABLE.match(line):
            table = _path(match[1])
            found.setdefault(table, number)
        elif match := _KEY.match(line):
            found.setdefault(table + _path(match[1]), number)
    return found


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of a path or, where it has none of its own, of what contains it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _path(key: str) -> Path:
    if _QUOTED.match(key):
        return (key[1:-1],)
    return tuple(_QUOTED.sub("", step).strip() for step in key.split("."))
