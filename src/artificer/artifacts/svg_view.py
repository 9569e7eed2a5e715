"""The coordinates that a drawing shows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from artificer.artifacts import svg_grammar as grammar

Box = tuple[float, float, float, float]
"""Left, top, width and height."""

_PIXELS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:px)?")


def pixels(length: str) -> str | None:
    """The number of a length in pixels."""
    match = _PIXELS.fullmatch(length)
    return match[1] if match else None


def view(attributes: Mapping[str, str]) -> Box | None:
    """The box that an outermost element with these attributes shows, where that is known."""
    if spelled := grammar.view_box(attributes.get("viewBox", "")):
        left, top, width, height = map(float, spelled.split())
        return left, top, width, height
    wide, high = (pixels(attributes.get(side, "")) for side in ("width", "height"))
    return (0.0, 0.0, float(wide), float(high)) if wide and high else None
