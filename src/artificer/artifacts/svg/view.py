"""The coordinates that a drawing shows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from artificer.artifacts.svg import grammar

ViewBox = tuple[float, float, float, float]
"""Left, top, width and height."""

_LARGEST = 40_000
"""The largest view box whose surroundings may be painted."""

_PIXELS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:px)?")


def pixels(length: str) -> str | None:
    """Return the number of a length in pixels."""
    match = _PIXELS.fullmatch(length)
    return match[1] if match else None


def view(attributes: Mapping[str, str]) -> ViewBox | None:
    """Return the box that an outermost element with these attributes shows, or None."""
    if spelled := grammar.view_box(attributes.get("viewBox", "")):
        left, top, width, height = map(float, spelled.split())
        return left, top, width, height
    wide, high = (pixels(attributes.get(side, "")) for side in ("width", "height"))
    return (0.0, 0.0, float(wide), float(high)) if wide and high else None


def behind(attributes: Mapping[str, str]) -> tuple[str, str, str, str]:
    """Return left, top, width and height of a rectangle behind everything that is shown.

    It is larger than the view box if the element has another aspect ratio.
    """
    box = view(attributes)
    if box is None:
        return "0", "0", "100%", "100%"
    left, top, width, height = box
    sizes = [attributes.get(side) for side in ("width", "height")]
    wide, high = (pixels(size or "") for size in sizes)
    same = wide and high and abs(float(wide) * height - float(high) * width) <= width * height / 1e3
    if same or sizes == [None, None] or max(map(abs, box)) > _LARGEST:
        return f"{left:.6g}", f"{top:.6g}", "100%", "100%"
    far = (left - 10 * width, top - 10 * height, 21 * width, 21 * height)
    x, y, across, down = (f"{side:.6g}" for side in far)
    return x, y, across, down
