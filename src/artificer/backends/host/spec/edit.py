"""Replacing exactly one passage of a text, and saying why it cannot be done.

Nothing is guessed: only an exact match is replaced. Otherwise the most similar passage is
reported, so that the next attempt can be right.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from artificer.values.text import clip

MAX_LISTED = 10
MAX_COMPARED = 2_000
"""Lines among which a near miss is looked for."""

MAX_SHOWN = 12
"""Lines of a near miss that are shown."""

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_CLOSE = 0.6


@dataclass(frozen=True)
class Edited:
    """A text after an edit, and the numbers of the lines at which something was put."""

    text: str
    lines: tuple[int, ...]


def edit(text: str, old: str, new: str, *, everywhere: bool = False) -> Edited | str:
    """Replace ``old`` by ``new``, or say in a sentence or more why not."""
    if not old:
        return "`old` is empty: it must be the passage that is replaced."
    if old == new:
        return "`old` and `new` are the same."
    count = text.count(old)
    if count == 0:
        return _why_absent(text, old)
    places = _places(text, old)
    if count > 1 and not everywhere:
        lines = ", ".join(map(str, places[:MAX_LISTED])) + (", …" if count > MAX_LISTED else "")
        return (
            f"`old` stands there {count} times, at lines {lines}. Take more of what is around the "
            "one you mean, or set `all`."
        )
    grown = new.count("\n") - old.count("\n")
    after = tuple(line + number * grown for number, line in enumerate(places))
    return Edited(text.replace(old, new), after)


def _places(text: str, old: str) -> list[int]:
    """The line numbers at which ``old`` begins."""
    places, line, start = [], 1, 0
    while (found := text.find(old, start)) >= 0:
        line += text.count("\n", start, found)
        places.append(line)
        line += old.count("\n")
        start = found + len(old)
    return places


def _why_absent(text: str, old: str) -> str:
    bare = _NUMBERED.sub("", old)
    if bare != old and bare in text:
        return "`old` is there without the line numbers in front: leave them out."
    if "\r\n" in text and "\r\n" not in old and old.replace("\n", "\r\n") in text:
        return "The file's lines end with \\r\\n, and those of `old` with \\n: write \\r\\n."
    lines, wanted = text.splitlines(), old.splitlines() or [old]
    return _by_whitespace(lines, wanted) or _nearest(lines, wanted)


def _by_whitespace(lines: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the hint for a passage that differs only in white space."""
    plain = "\n".join(["", *("".join(line.split()) for line in lines), ""])
    target = ["".join(line.split()) for line in wanted]
    while len(target) > 1 and not target[-1]:
        target.pop()
    if not any(target):
        return None
    found = plain.find("\n".join(["", *target, ""]))
    if found < 0:
        return None
    start = plain.count("\n", 0, found)
    for number, (has, says) in enumerate(zip(lines[start:], wanted, strict=False), start + 1):
        if has != says:
            where = f"lines {start + 1} to {start + len(target)}"
            return (
                f"`old` is not there, but {where} differ from it only in white space. "
                f"Line {number} is {clip(repr(has), 200)}, and `old` says {clip(repr(says), 200)}."
            )
    return f"`old` is not there, but lines from {start + 1} on differ only in how they end."


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """Return the hint for a missing passage: a similar one, if any."""
    first = next((n for n, line in enumerate(wanted) if line.strip()), 0)
    anchor = wanted[first].strip()[:200]
    seen = {line.strip()[:200]: n for n, line in reversed(list(enumerate(lines[:MAX_COMPARED])))}
    close = difflib.get_close_matches(anchor, list(seen), n=1, cutoff=_CLOSE) if anchor else []
    if not close:
        return "`old` is not there, and nothing like its first line is. Read the file again."
    start = max(0, seen[close[0]] - first)
    shown = lines[start : start + min(len(wanted), MAX_SHOWN)]
    listed = "\n".join(f"{n:>6}\t{clip(line, 300)}" for n, line in enumerate(shown, start + 1))
    return f"`old` is not there. Nearest to it:\n{listed}"
