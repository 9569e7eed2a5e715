"""Colours of newer CSS, written as ``rgb()``, which every SVG viewer can read."""

from __future__ import annotations

import math
import re

_OKLCH = re.compile(
    r"okl(ch|ab)\(\s*([0-9.]{1,12}%?)\s+(-?[0-9.]{1,12}%?)\s+(-?[0-9.]{1,12}(?:deg)?)"
    r"(?:\s*/\s*([0-9.]{1,12}%?))?\s*\)",
    re.IGNORECASE,
)
_FULL = 0.4
"""The chroma, a or b that is written as 100 % (CSS Color 4, section 9)."""


def converted(value: str) -> str | None:
    """Return ``rgb()`` for a colour in ``oklch()``, ``oklab()``, ``hsl()`` or ``hwb()``."""
    if len(value) > 100:
        return None
    if match := _OKLCH.fullmatch(value):
        return _from_ok(*match.groups())
    if value[:3].lower() not in ("hsl", "hwb"):
        return None
    from tinycss2 import color4  # type: ignore[import-untyped]  # it has no type stubs

    colour = color4.parse_color(value)
    if colour is None:
        return None
    return _rgb(list(colour.to("srgb").coordinates), colour.alpha)


def _from_ok(kind: str, light: str, second: str, third: str, alpha: str | None) -> str | None:
    try:
        lightness, a, b = _part(light, 1), _part(second, _FULL), _part(third, _FULL)
        opacity = _part(alpha, 1) if alpha else 1.0
    except ValueError:
        return None
    if kind.lower() == "ch":
        hue = math.radians(b if third[-1:] != "%" else 0.0)
        a, b = a * math.cos(hue), a * math.sin(hue)
    return _rgb(_linear(min(lightness, 1.0), a, b), opacity)


def _part(text: str, full: float) -> float:
    if text.endswith("%"):
        return float(text[:-1]) / 100 * full
    return float(text.lower().removesuffix("deg"))


def _linear(lightness: float, a: float, b: float) -> list[float]:
    """Convert OKLab to sRGB (CSS Color 4, section 18)."""
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in linear]


def _rgb(parts: list[float], alpha: float) -> str | None:
    if any(map(math.isnan, (*parts, alpha))):  # an infinite share of another one
        return None
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in parts)
    if alpha >= 1:
        return f"rgb({red}, {green}, {blue})"
    return f"rgba({red}, {green}, {blue}, {max(alpha, 0.0):.3g})"
