"""Paths: the shapes of points, bars with round ends, lines with gaps, segments of a disc."""

from __future__ import annotations

import math
from collections.abc import Sequence

_TALL = math.sqrt(3) / 2
_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((-1, 0), (0, -1), (1, 0), (0, 1)),
    "triangle-up": ((0, -_TALL), (-1, _TALL), (1, _TALL)),
    "triangle-down": ((0, _TALL), (-1, -_TALL), (1, -_TALL)),
    "triangle-left": ((-_TALL, 0), (_TALL, -1), (_TALL, 1)),
    "triangle-right": ((_TALL, 0), (-_TALL, -1), (-_TALL, 1)),
    "cross": (
        *((-1, -0.4), (-0.4, -0.4), (-0.4, -1), (0.4, -1), (0.4, -0.4), (1, -0.4)),
        *((1, 0.4), (0.4, 0.4), (0.4, 1), (-0.4, 1), (-0.4, 0.4), (-1, 0.4)),
    ),
}
PixelPlace = tuple[float, float]


def px(value: float) -> str:
    """Write a number of pixels, to a hundredth."""
    return f"{round(value, 2) + 0.0:g}"


def symbol(shape: str, size: float) -> str:
    """Return a shape around the origin whose square has an area of ``size``."""
    radius = math.sqrt(size) / 2
    if shape == "circle":
        r = px(radius)
        return f"M{r},0A{r},{r},0,1,1,-{r},0A{r},{r},0,1,1,{r},0"
    return polygon([(x * radius, y * radius) for x, y in _CORNERS[shape]])


def polygon(places: Sequence[PixelPlace]) -> str:
    """Return a closed shape through these places."""
    return f"{polyline(places)}Z"


def polyline(places: Sequence[PixelPlace]) -> str:
    """Return a line through these places."""
    return "M" + "L".join(f"{px(x)},{px(y)}" for x, y in places)


def bar(x0: float, y0: float, x1: float, y1: float, radius: float = 0) -> str:
    """Return a bar that begins at one corner, and is round at the end that is opposite to it.

    It grows along y if ``radius`` is above zero, and along x if it is below.
    """
    if not radius:
        return f"M{px(x0)},{px(y0)}H{px(x1)}V{px(y1)}H{px(x0)}Z"
    if radius < 0:
        r, sign = min(-radius, abs(x1 - x0), (y1 - y0) / 2), math.copysign(1, x1 - x0)
        bend = px(x1 - sign * r)
        return (
            f"M{px(x0)},{px(y0)}H{bend}Q{px(x1)},{px(y0)},{px(x1)},{px(y0 + r)}V{px(y1 - r)}"
            f"Q{px(x1)},{px(y1)},{bend},{px(y1)}H{px(x0)}Z"
        )
    r, sign = min(radius, abs(y1 - y0), (x1 - x0) / 2), math.copysign(1, y1 - y0)
    bend = px(y1 - sign * r)
    return (
        f"M{px(x0)},{px(y0)}V{bend}Q{px(x0)},{px(y1)},{px(x0 + r)},{px(y1)}H{px(x1 - r)}"
        f"Q{px(x1)},{px(y1)},{px(x1)},{bend}V{px(y0)}Z"
    )


def segment(radius: float, start: float, end: float) -> str:
    """Return a segment of a disc around the origin, clockwise from the top, in radians."""
    if end - start >= 2 * math.pi - 1e-9:
        return symbol("circle", (2 * radius) ** 2)
    (x0, y0), (x1, y1) = around(radius, start), around(radius, end)
    r, long = px(radius), int(end - start > math.pi)
    return f"M{px(x0)},{px(y0)}A{r},{r},0,{long},1,{px(x1)},{px(y1)}L0,0Z"


def around(radius: float, angle: float) -> PixelPlace:
    """Return the place on a circle around the origin, clockwise from the top."""
    return radius * math.sin(angle), -radius * math.cos(angle)


def runs(places: Sequence[PixelPlace | None]) -> list[list[PixelPlace]]:
    """Return the places in runs without a gap."""
    found: list[list[PixelPlace]] = [[]]
    for place in places:
        if place is None:
            found.append([])
        else:
            found[-1].append(place)
    return [run for run in found if run]
