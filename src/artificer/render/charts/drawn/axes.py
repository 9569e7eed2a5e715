"""Axes: the words at them, the lines across the drawing, and the room that they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from xml.etree.ElementTree import Element

from msgspec import Struct

from artificer.render.charts.drawn.ink import LINE, WordStyle, path, stroke, words
from artificer.render.charts.drawn.scales import Scale
from artificer.render.charts.drawn.shapes import px
from artificer.render.charts.drawn.ticks import ticks, written
from artificer.render.charts.measure import FONT, width
from artificer.render.charts.style import LINE as LINE_COLOUR
from artificer.render.charts.style import STRONG_LINE, ChartSpec
from artificer.render.numbers import NumberForm
from artificer.system.utc import utc_moment

PADDING = 6
"""Between the drawing and the words at its axis."""

TITLE = 20
"""Height of a title at an axis, with the gap before it."""

_TICKS = 6
_GAP = 10
"""Least distance between two words at an axis of numbers."""


class AxisTick(Struct, frozen=True):
    """A place at an axis, in pixels, with its words."""

    at: float
    label: str

    @property
    def lines(self) -> int:
        """How many lines the words have."""
        return self.label.count("\n") + 1


class Axis(Struct, frozen=True):
    """An axis as it will be drawn."""

    ticks: tuple[AxisTick, ...]
    title: str
    angle: float = 0
    grid: bool = False
    marked: bool = False

    @property
    def beside(self) -> float:
        """The room that the words need next to the drawing."""
        return PADDING + max((width(tick.label) for tick in self.ticks), default=0)

    @property
    def below(self) -> float:
        """The room that the words and the title need below the drawing."""
        if self.angle:
            turned = math.radians(abs(self.angle))
            tall = max(width(t.label) * math.sin(turned) for t in self.ticks)
            tall += FONT * math.cos(turned)
        else:
            tall = max((tick.lines for tick in self.ticks), default=0) * LINE
        return self.padding + tall + (TITLE if self.title else 0)

    @property
    def padding(self) -> float:
        """The gap between the drawing and the words below it."""
        return PADDING + 3 * self.marked

    def beyond(self, length: float) -> tuple[float, float]:
        """Return how far the words below the drawing reach beyond its left and right end."""
        if self.angle:
            slant = math.cos(math.radians(self.angle))
            return max((width(t.label) * slant - t.at for t in self.ticks), default=0), 0.0
        halves = [(t.at, width(t.label) / 2) for t in self.ticks]
        left = max((half - at for at, half in halves), default=0)
        return left, max((at + half - length for at, half in halves), default=0)


def axis_of(
    definition: ChartSpec, scale: Scale, length: float, numbers: NumberForm, *, level: bool
) -> Axis | None:
    """Return the axis of a channel, ``length`` pixels long; None if it has none."""
    spec = definition.get("axis")
    if spec is None:
        return None
    made = _KINDS[definition["type"]](definition, scale, length if level else 0, numbers)
    kept = made
    return Axis(
        tuple(kept),
        spec.get("title") or "",
        spec.get("labelAngle", 0),
        definition["type"] == "quantitative" and spec.get("grid", True),
        definition["type"] == "temporal",
    )


def _numbers(
    definition: ChartSpec, scale: Scale, length: float, numbers: NumberForm
) -> Sequence[AxisTick]:
    """Return round numbers; along a ``length``, as many as have room."""
    low, high = scale.low, scale.high  # type: ignore[attr-defined]
    chosen = definition["axis"].get("values")
    for count in range(_TICKS, 1, -1):
        values = ticks(low, high, count, definition["axis"].get("tickMinStep", 0))
        if chosen:
            values = [Decimal(repr(float(value))) for value in chosen]
        labels = written(values, numbers)
        made = [AxisTick(scale.place(float(v)), w) for v, w in zip(values, labels, strict=True)]
        if not length or _untouched(made) == made:
            break
    return made


def _names(
    definition: ChartSpec, scale: Scale, length: float, numbers: NumberForm
) -> Sequence[AxisTick]:
    middle = scale.extent / 2
    domain = definition["scale"]["domain"]
    made = [AxisTick(scale.place(name) + middle, name) for name in domain]
    axis = definition["axis"]
    if axis.get("labelOverlap") != "greedy" or not length:
        return made
    room = LINE if axis.get("labelAngle") else max(width(t.label) for t in made) + _GAP
    return made[:: math.ceil(room * len(made) / length)]


def _dates(
    definition: ChartSpec, scale: Scale, length: float, numbers: NumberForm
) -> Sequence[AxisTick]:
    form = definition["axis"]["format"]
    return [
        AxisTick(scale.place(at), utc_moment(at).strftime(form))
        for at in definition["axis"]["values"]
    ]


_KINDS: dict[str, Callable[[ChartSpec, Scale, float, NumberForm], Sequence[AxisTick]]] = {
    "quantitative": _numbers,
    "nominal": _names,
    "temporal": _dates,
}


def _untouched(made: Sequence[AxisTick]) -> list[AxisTick]:
    """Return the ticks whose words keep a distance from those before them."""
    kept: list[AxisTick] = []
    for tick in made:
        half = width(tick.label) / 2
        if not kept or tick.at - half >= kept[-1].at + width(kept[-1].label) / 2 + _GAP:
            kept.append(tick)
    return kept


def draw_lines(into: Element, axis: Axis, across: bool, length: float) -> None:
    """Draw the lines of a grid behind the marks, ``length`` pixels long."""
    for tick in axis.ticks if axis.grid else ():
        at = px(tick.at)
        d = f"M0,{at}H{px(length)}" if across else f"M{at},0V{px(length)}"
        path(into, d, stroke(LINE_COLOUR, 1))


def draw_beside(into: Element, axis: Axis, at: float, *, right: bool = False) -> None:
    """Draw the words next to the drawing, whose edge is ``at``."""
    style = WordStyle(anchor="start" if right else "end")
    x = at + PADDING if right else at - PADDING
    for tick in axis.ticks:
        y = tick.at + FONT * 0.3 - (tick.lines - 1) * LINE / 2
        words(into, x, y, tick.label, style)


def draw_below(into: Element, axis: Axis, length: float, at: float) -> None:
    """Draw the words and the title below the drawing, whose edge is ``at``."""
    for tick in axis.ticks:
        if axis.marked:
            d = f"M{px(tick.at)},{px(at)}v4"
            path(into, d, stroke(STRONG_LINE, 1))
        if axis.angle:
            style = WordStyle(anchor="end", angle=axis.angle)
            words(into, tick.at + 4, at + PADDING + FONT * 0.6, tick.label, style)
        else:
            style = WordStyle(anchor="middle")
            words(into, tick.at, at + axis.padding + FONT * 0.79, tick.label, style)
    if axis.title:
        y = at + axis.below - 3
        words(into, length / 2, y, axis.title, WordStyle(anchor="middle"))
