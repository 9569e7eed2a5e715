"""Estimates of text width, and text wrapped or shortened to a width.

The renderer can shorten text too, but it counts UTF-16 units: it cuts characters beyond the Basic
Multilingual Plane in half and then fails on the halves. So that feature is not used.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_NARROW, _WIDE = 6.6, 12.5
"""Width of a Latin character, and of an East Asian character or an emoji, at 12 pixels."""

_HEAD = 8
"""Characters that remain of a beginning that several labels share."""


def width(text: str) -> float:
    """Return the width in pixels of the longest line, at a font size of 12."""
    return max(
        sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in line)
        for line in text.split("\n")
    )


def fitted(text: str, pixels: float) -> str:
    """Return the text, or the longest beginning that fits with an ellipsis."""
    if width(text) <= pixels:
        return text
    kept, used = 0, _NARROW
    for character in text:
        used += width(character)
        if used > pixels:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def apart(labels: Sequence[str], pixels: float, lines: int = 1) -> list[str]:
    """Return the labels in at most ``lines`` lines of this width, so that each is told apart.

    A label that is too long ends in an ellipsis. Where that would make several alike, the
    beginning that they share is shortened instead, because they differ after it.
    """
    cut = [in_lines(label, pixels, lines) for label in labels]
    alike = [label for label, shown in zip(labels, cut, strict=True) if cut.count(shown) > 1]
    shared = _shared(alike) if len(set(alike)) > 1 else 0
    if shared <= _HEAD + 2:
        return cut
    return [
        in_lines(f"{label[:_HEAD].rstrip()}…{label[shared:].lstrip()}", pixels, lines)
        if label in alike
        else shown
        for label, shown in zip(labels, cut, strict=True)
    ]


def _shared(labels: Sequence[str]) -> int:
    """Return how many characters the labels have in common at their beginning."""
    first, last = min(labels), max(labels)
    pairs = enumerate(zip(first, last, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(first), len(last)))


def in_lines(text: str, pixels: float, lines: int) -> str:
    """Return the text in at most ``lines`` lines; the last one is shortened if it must be."""
    broken = _broken(text, pixels)
    if len(broken) > lines:
        broken = [*broken[: lines - 1], fitted(" ".join(broken[lines - 1 :]), pixels)]
    return "\n".join(fitted(line, pixels) for line in broken)


def wraps(text: str, pixels: float, lines: int) -> bool:
    """Return whether the text fits whole into ``lines`` lines of this width."""
    broken = _broken(text, pixels)
    return len(broken) <= lines and all(width(line) <= pixels for line in broken)


def _broken(text: str, pixels: float) -> list[str]:
    """Return the text in lines, broken at spaces and between East Asian characters."""
    lines, line = [], ""
    for word in _words(text):
        if line and width((line + word).rstrip()) > pixels:
            lines.append(line.rstrip())
            line = ""
        line += word
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _words(text: str) -> list[str]:
    """Return the parts between which a line may be broken, each with the spaces that follow it."""
    words: list[str] = []
    for character in text:
        wide = unicodedata.east_asian_width(character) in "WF"
        if not words or wide or (words[-1][-1] == " " and character != " "):
            words.append(character)
        else:
            words[-1] += character
    return words
