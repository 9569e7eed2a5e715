"""Estimates of text width, and text shortened to a width.

The renderer can shorten text too, but it counts UTF-16 units: it cuts characters beyond the Basic
Multilingual Plane in half and then fails on the halves. So that feature is not used.
"""

from __future__ import annotations

import unicodedata

_NARROW, _WIDE = 6.6, 12.5
"""Width of a Latin character, and of an East Asian character or an emoji, at 12 pixels."""


def width(text: str) -> float:
    """Return the width in pixels at a font size of 12."""
    return sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in text)


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
