"""CSS properties without an attribute, written as attributes with the same meaning.

Each function returns None for a value it does not understand; the drawing is then refused.
"""

from __future__ import annotations

import math
import re

from artificer.artifacts.svg import grammar as g
from artificer.artifacts.svg.view import ViewBox

_VARIABLE = re.compile(r"var\(\s*(--[\w-]{1,60})\s*(?:,\s*([^()]*(?:\([^()]*\)[^()]*)*))?\)")
_FUNCTION = re.compile(r"\s*([A-Za-z]+)\(([^()]*)\)\s*,?")
_UNIT = re.compile(r"(.+?)(px|deg|grad|rad|turn)?")
_SHADOW = re.compile(r"drop-shadow\((.{1,120})\)", re.DOTALL)
_TOKEN = re.compile(r"[^\s(]+(?:\([^()]*\))?")
_FONT_SIZE = re.compile(r"[0-9.]+(?:px|pt|pc|em|ex|rem|ch|mm|cm|in|%)")
_FONT_WORDS = {
    **dict.fromkeys(("italic", "oblique"), "font-style"),
    "small-caps": "font-variant",
    **dict.fromkeys(("bold", "bolder", "lighter"), "font-weight"),
    **{str(weight): "font-weight" for weight in range(100, 1000, 100)},
}
_DEGREES = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
_MAX_VALUE = 400
"""Longest value after its variables are substituted, so that they cannot multiply."""


def substitute(value: str, variables: dict[str, str]) -> str | None:
    """Return the value with every ``var()`` replaced by the variable or its fallback."""
    if "var(" in value and len(value) > _MAX_VALUE:
        return None
    for _ in range(4):
        found = _VARIABLE.search(value)
        if not found:
            break
        chosen = variables.get(found[1], found[2])
        if chosen is None or len(value) + len(chosen) > _MAX_VALUE:
            return None
        value = f"{value[: found.start()]}{chosen.strip()}{value[found.end() :]}"
    return None if "var(" in value else value


def font(value: str) -> dict[str, str] | None:
    """Return the parts of the ``font`` shorthand. The line height is ignored."""
    names = ("font-style", "font-variant", "font-weight", "font-stretch")
    parts = dict.fromkeys(names, "normal")
    rest = re.sub(r"\s*/\s*", "/", value.strip())
    while True:
        word, _, after = rest.partition(" ")
        if word.lower() in _FONT_WORDS:
            parts[_FONT_WORDS[word.lower()]] = word.lower()
        elif word.lower() != "normal":
            break
        rest = after.strip()
    size = word.partition("/")[0]
    if not _FONT_SIZE.fullmatch(size) or not after.strip():
        return None
    return {**parts, "font-size": size, "font-family": after.strip()}


def transform(value: str) -> str | None:
    """Return the ``transform`` property as an attribute: pixels and degrees, without units."""
    if value.strip() == "none":
        return "none"
    parts: list[str] = []
    position = 0
    while position < len(value):
        match = _FUNCTION.match(value, position)
        part = _function(*match.groups()) if match else None
        if match is None or part is None:
            return None
        parts.append(part)
        position = match.end()
    return " ".join(parts) or None


def _function(name: str, arguments: str) -> str | None:
    numbers: list[str] = []
    for argument in re.split(r"[\s,]+", arguments.strip()):
        match = _UNIT.fullmatch(argument)
        if match is None or g.number(match[1]) is None:
            return None
        is_angle = match[2] in _DEGREES
        if is_angle != (name in ("rotate", "skewX", "skewY")) and match[1].strip("0."):
            return None
        value = float(match[1]) * _DEGREES.get(match[2] or "", 1.0)
        numbers.append(match[1] if match[2] in (None, "px", "deg") else f"{value:.6g}")
    if name in ("translateX", "scaleX") and len(numbers) == 1:
        return f"{name[:-1]}({numbers[0]} {'0' if name[0] == 't' else '1'})"
    if name in ("translateY", "scaleY") and len(numbers) == 1:
        return f"{name[:-1]}({'0' if name[0] == 't' else '1'} {numbers[0]})"
    return f"{name}({' '.join(numbers)})"


def around(transformed: str, origin: str, box: ViewBox | None) -> str | None:
    """Return a transform about an origin other than the coordinates' own."""
    words = origin.split()
    if len(words) == 1:
        words.append("center")
    if words[0] in ("top", "bottom") or words[-1] in ("left", "right"):
        words.reverse()
    if len(words) != 2:
        return None
    x, y = (_place(word, axis, box) for axis, word in enumerate(words))
    if x is None or y is None:
        return None
    return f"translate({x:.6g} {y:.6g}) {transformed} translate({-x:.6g} {-y:.6g})"


def _place(word: str, axis: int, box: ViewBox | None) -> float | None:
    number = word.removesuffix("px")
    if g.number(number):
        return float(number)
    share = {"left": 0.0, "top": 0.0, "center": 50.0, "right": 100.0, "bottom": 100.0}.get(word)
    if word.endswith("%") and g.number(word[:-1]):
        share = float(word[:-1])
    if share is None or box is None:
        return None
    return box[axis + 2] * share / 100  # relative to the coordinates' origin, not to the box


def drop_shadow(value: str) -> dict[str, str] | None:
    """Return the attributes of a ``feDropShadow`` that looks like ``drop-shadow()``."""
    match = _SHADOW.fullmatch(value.strip())
    if not match:
        return None
    tokens = _TOKEN.findall(match[1])
    numbers = [t.removesuffix("px") for t in tokens if g.number(t.removesuffix("px"))]
    others = [token for token in tokens if not g.number(token.removesuffix("px"))]
    if len(numbers) not in (2, 3) or len(others) > 1:
        return None
    colour = g.colour(others[0]) if others else "currentColor"
    if colour is None:
        return None
    blur = numbers[2] if len(numbers) == 3 else "0"
    shift = {"dx": numbers[0], "dy": numbers[1], "stdDeviation": blur}
    return {**shift, "flood-color": colour, "color-interpolation-filters": "sRGB"}
