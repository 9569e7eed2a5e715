"""Texts compared line by line, as the studio shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from artificer.studio.words import count
from artificer.values.text import clip, split_lines

MAX_LINES = 1_000
"""Lines of each text that are compared, and lines of a difference that are shown."""

MAX_COMPARED = 400
"""Lines that are compared one with another: comparing takes their square."""

MAX_WIDTH = 2_000
"""Characters of a line."""

CONTEXT = 3
"""Lines that are shown around each change."""

_HEADINGS = ("+++ ", "--- ", "diff --git ", "index ", "@@ ")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

LineKind = Literal["same", "added", "removed", "place", "note"]


class DiffLine(NamedTuple):
    """A line of a difference. A ``place`` says where in a file, a ``note`` what is left out."""

    kind: LineKind
    text: str


def line_diff(before: str, after: str) -> tuple[DiffLine, ...]:
    """Return the lines in which two texts differ, with a few around them; none for equal ones."""
    a, b = _lines(before), _lines(after)
    found = list(_differing(a, b))
    cut = max(before.count("\n"), after.count("\n")) + 1 - MAX_LINES
    if cut > 0:
        found.append(DiffLine("note", f"{cut:,} more lines were not compared."))
    return tuple(found)


def patch_lines(patch: str) -> tuple[DiffLine, ...]:
    """Return a patch of git as lines with their kinds."""
    lines = split_lines(patch)
    found = list(_of_patch(lines[:MAX_LINES]))
    if len(lines) > MAX_LINES:
        found.append(DiffLine("note", f"{len(lines) - MAX_LINES:,} more lines are not shown."))
    return tuple(found)


def _of_patch(lines: Sequence[str]) -> Iterator[DiffLine]:
    """Yield the lines of a patch. Within a hunk, a line that reads as a heading is none."""
    before = after = 0  # lines of the hunk that are still to come
    for line in lines:
        text = clip(line, MAX_WIDTH)
        if before <= 0 and after <= 0 and line.startswith(_HEADINGS):
            if (hunk := _HUNK.match(line)) is not None:
                before, after = (int(number or 1) for number in hunk.groups())
            yield DiffLine("place", text)
        elif line.startswith("+"):
            after -= 1
            yield DiffLine("added", text[1:])
        elif line.startswith("-"):
            before -= 1
            yield DiffLine("removed", text[1:])
        else:
            if not line.startswith("\\"):  # it says that no line feed ends the line before
                before, after = before - 1, after - 1
            yield DiffLine("same", text.removeprefix(" "))


def _lines(text: str) -> list[str]:
    return [clip(line, MAX_WIDTH) for line in split_lines(text)[:MAX_LINES]]


def _differing(a: list[str], b: list[str]) -> Iterator[DiffLine]:
    """Yield the changes; what the texts have in common at their ends is not compared."""
    begin = _common(a, b)
    end = min(_common(a[begin:][::-1], b[begin:][::-1]), len(a) - begin, len(b) - begin)
    middle_a, middle_b = a[begin : len(a) - end], b[begin : len(b) - end]
    if not middle_a and not middle_b:
        return
    yield from (DiffLine("same", line) for line in a[max(0, begin - CONTEXT) : begin])
    if max(len(middle_a), len(middle_b)) > MAX_COMPARED:
        yield from (DiffLine("removed", line) for line in middle_a)
        yield from (DiffLine("added", line) for line in middle_b)
    else:
        yield from _matched(middle_a, middle_b)
    yield from (DiffLine("same", line) for line in a[len(a) - end :][:CONTEXT])


def _matched(a: Sequence[str], b: Sequence[str]) -> Iterator[DiffLine]:
    for word, i, j, k, m in SequenceMatcher(None, a, b).get_opcodes():
        if word == "equal":
            yield from _shortened(a[i:j])
            continue
        yield from (DiffLine("removed", line) for line in a[i:j])
        yield from (DiffLine("added", line) for line in b[k:m])


def _shortened(lines: Sequence[str]) -> Iterator[DiffLine]:
    if len(lines) <= 2 * CONTEXT:
        yield from (DiffLine("same", line) for line in lines)
        return
    yield from (DiffLine("same", line) for line in lines[:CONTEXT])
    same = len(lines) - 2 * CONTEXT
    yield DiffLine("note", f"{count(same, 'line')} {'is' if same == 1 else 'are'} the same.")
    yield from (DiffLine("same", line) for line in lines[-CONTEXT:])


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(a), len(b)))
