"""Drawings without transparency, for a file that is to be kept: PDF/A-1 knows none.

A chart's colours are mixed with the white of the paper, as they are seen there. Any other drawing
that lets something shine through has to become a picture of pixels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

_WHITE = (255, 255, 255)
_NAMES = {"white": _WHITE, "black": (0, 0, 0)}
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_ALPHA = ("opacity", "fill-opacity", "stroke-opacity", "stop-opacity")
_LAYERS = ("mask", "filter")
_PAINTS = ("fill", "stroke", "stop-color", "color")
_LONG_HEX = re.compile(r"#(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{8})")
_FUNCTION = re.compile(r"[a-z]+\(([^)]*)\)")


def needs_pixels(drawing: Element) -> bool:
    """Whether a drawing of any kind lets something shine through."""
    return any(map(_is_layered, drawing.iter()))


def opaque(element: Element, opacity: float = 1.0) -> None:
    """Mix each colour of a drawing with white by its opacity, which is removed."""
    opacity *= _taken(element, "opacity")
    for paint in ("fill", "stroke"):
        share = opacity * _taken(element, f"{paint}-opacity")
        colour = _colour(element.get(paint, ""))
        if share < 1 and colour is not None:
            element.set(paint, _mixed(colour, share))
    for child in element:
        opaque(child, opacity)


def _is_layered(element: Element) -> bool:
    if any(name in element.attrib for name in _LAYERS):
        return True
    if any(_share(element.get(name, "1")) < 1 for name in _ALPHA):
        return True
    return any(_is_translucent(element.get(name, "")) for name in _PAINTS)


def _is_translucent(paint: str) -> bool:
    if found := _FUNCTION.fullmatch(paint):
        return len(re.split(r"[\s,/]+", found.group(1).strip())) > 3
    return _LONG_HEX.fullmatch(paint) is not None


def _taken(element: Element, name: str) -> float:
    return _share(element.attrib.pop(name, "1"))


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return 1.0
    return min(1.0, max(0.0, share))


def _colour(text: str) -> tuple[int, int, int] | None:
    if found := _RGB.fullmatch(text):
        red, green, blue = map(int, found.groups())
        return red, green, blue
    if _HEX.fullmatch(text):
        red, green, blue = _bytes_of(text[1:])
        return red, green, blue
    return _NAMES.get(text)


def _bytes_of(digits: str) -> Iterator[int]:
    wide = digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)
    return (int(wide[place : place + 2], 16) for place in (0, 2, 4))


def _mixed(colour: tuple[int, int, int], share: float) -> str:
    parts = (round(part * share + 255 * (1 - share)) for part in colour)
    return "#" + "".join(f"{part:02x}" for part in parts)
