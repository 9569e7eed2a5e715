"""How wide a text will be, roughly, and a text that fits.

The renderer can shorten texts too, but counts UTF-16 units: it cuts characters beyond the Basic
Multilingual Plane in half and then fails on the halves. So it is never asked to.
"""

from __future__ import annotations

import unicodedata

_NARROW, _WIDE = 6.6, 12.5
"""Pixels of a Latin and of an East Asian character or an emoji, at 12 pixels."""


def width(text: str) -> float:
    """The width in pixels at a size of 12."""
    return sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in text)


def fitted(text: str, pixels: float) -> str:
    """The text, or as much of its beginning as fits with an ellipsis."""
    if width(text) <= pixels:
        return text
    kept, used = 0, _NARROW
    for character in text:
        used += width(character)
        if used > pixels:
            break
        kept += 1
    return text[:kept].rstrip() + "…"
