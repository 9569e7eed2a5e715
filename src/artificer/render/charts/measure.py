"""Widths of text, and text wrapped or shortened to a width.

The widths are those of Liberation Sans, which has the widths of Arial and Helvetica. Nothing is
asked of a font file, so a drawing has the same bytes on every machine.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

FONT = 12
"""The font size that is measured, in pixels."""

_GROUPS = {
    191: "'",
    222: "ijlı’",
    260: "|",
    278: " !,./:;I[\\]ft·",
    333: "()-`r“”",
    334: "{}",
    355: '"',
    389: "*",
    400: "°",
    469: "^",
    500: "Jcksvxyz",
    556: "#$0123456789?L_abdeghnopqu–€",
    584: "+<=>~−×",
    611: "FTZßø",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%æ",
    944: "W",
    1000: "—…",
    1015: "@",
}
_WIDTHS = {c: units * FONT / 1000 for units, group in _GROUPS.items() for c in group}
_OTHER, _JOINED, _WIDE = 7.8, 6.2, 12.5
"""Width of a letter of another script, of one that runs from the right, and of an East Asian
character or an emoji.
"""

_HEAD = 8
"""Characters that remain of a beginning that several labels share."""


def width(text: str) -> float:
    """Return the width in pixels of the longest line, at a font size of 12."""
    return max(sum(map(_width, line)) for line in text.split("\n"))


@lru_cache(maxsize=4096)
def _width(character: str) -> float:
    if known := _WIDTHS.get(character):
        return known
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDE
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.bidirectional(character) in ("AL", "R"):
        return _JOINED
    base = unicodedata.normalize("NFD", character)[0]
    return _WIDTHS.get(base, _OTHER)


def fitted(text: str, pixels: float) -> str:
    """Return the text, or the longest beginning that fits with an ellipsis."""
    if width(text) <= pixels:
        return text
    kept, used = 0, width("…")
    for character in text:
        used += _width(character)
        if used > pixels:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def apart(labels: Sequence[str], pixels: float, lines: int = 1) -> list[str]:
    """Return the labels in at most ``lines`` lines of this width, so that no two look alike.

    A label that is too long ends in an ellipsis. Where that would make several alike, the
    beginning that they share is shortened instead, because they differ after it.
    """
    cut = [in_lines(label, pixels, lines) for label in labels]
    alike = {label for label, shown in zip(labels, cut, strict=True) if cut.count(shown) > 1}
    if len(alike) < 2:
        return cut
    begin = _shared([*alike])
    family = [label for label in labels if label[:_HEAD] == next(iter(alike))[:_HEAD]]
    shared = _shared(family) if begin > _HEAD else 0
    shared = family[0].rfind(" ", 0, shared) + 1 if shared else 0
    if shared <= _HEAD + 2:
        return cut
    return [
        in_lines(f"{_head(label)}… {label[shared:].lstrip()}", pixels, lines)
        if label in family
        else shown
        for label, shown in zip(labels, cut, strict=True)
    ]


def _head(label: str) -> str:
    """Return the first words of a label, or a piece of the first one."""
    words = label[: _HEAD + 1]
    return words.rpartition(" ")[0].rstrip() or words[:_HEAD]


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
