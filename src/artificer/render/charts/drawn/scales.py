"""Scales: from values to pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from artificer.render.charts.drawn.ticks import niced
from artificer.render.charts.style import ChartSpec


class Scale(Protocol):
    """Gives the place of a value. ``extent`` is what it covers in pixels: a band, or nothing."""

    def place(self, value: object) -> float:
        """Return where a value begins."""
        ...

    @property
    def extent(self) -> float:
        """The width of a value's band; 0 if it is a point."""
        ...


class Linear(Struct, frozen=True):
    """Numbers along a line. A domain of one value is shown in the middle."""

    low: float
    high: float
    start: float
    end: float

    @property
    def extent(self) -> float:
        """Nothing: a number is a point."""
        return 0.0

    def place(self, value: object) -> float:
        """Return where a number is."""
        assert isinstance(value, (int, float))
        span = self.high / 2 - self.low / 2
        share = (value / 2 - self.low / 2) / span if span else 0.5
        return self.start + share * (self.end - self.start)


class Bands(Struct, frozen=True):
    """Names along a line, each with its own band; without a width they are points."""

    indices: dict[str, int]
    first: float
    step: float
    extent: float

    def place(self, value: object) -> float:
        """Return where the band of a name begins."""
        return self.first + self.step * self.indices[str(value)]


def bands(domain: Sequence[str], start: float, end: float, inner: float, outer: float) -> Bands:
    """Return bands with gaps of ``inner`` of a step between them and ``outer`` at the ends."""
    count = len(domain)
    step = (end - start) / max(1, count - inner + 2 * outer)
    first = start + (end - start - step * (count - inner)) / 2
    indices = {name: index for index, name in enumerate(domain)}
    return Bands(indices, first, step, step * (1 - inner))


def named(scale: ChartSpec, start: float, end: float) -> Bands:
    """Return the bands or points of a nominal channel."""
    if scale.get("type") == "point":
        return bands(scale["domain"], start, end, 1, scale["padding"])
    return bands(scale["domain"], start, end, scale["paddingInner"], scale["paddingOuter"])


def linear(scale: ChartSpec, values: Sequence[float], start: float, end: float) -> Linear:
    """Return the scale of a channel of numbers that covers ``values``."""
    if "domain" in scale:
        low, high = scale["domain"]
        return (
            Linear(low, high, end, start) if scale.get("reverse") else _over(low, high, start, end)
        )
    kept = [*values, 0] if scale.get("zero") else values
    low, high = float(min(kept)), float(max(kept))
    if low == high:
        low, high = (low - 1, high + 1) if low == 0 else (low - abs(low) / 2, high + abs(low) / 2)
        low, high = (0.0, high) if scale.get("zero") else (low, high)
    if padding := scale.get("padding"):
        share = padding / max(1, abs(end - start) - 2 * padding)
        low, high = (low - (high - low) * share, high + (high - low) * share)
    if scale.get("nice"):
        low, high = niced(low, high)
    return _over(low, high, start, end)


def _over(low: float, high: float, start: float, end: float) -> Linear:
    return Linear(float(low), float(high), start, end)
