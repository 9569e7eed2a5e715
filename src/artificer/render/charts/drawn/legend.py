"""Legends: names of series in as many rows as they need, and the steps of a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

from msgspec import Struct

from artificer.render.charts.drawn.ink import LINE, WordStyle, path, stroke, words
from artificer.render.charts.drawn.layers import Layer
from artificer.render.charts.drawn.shapes import bar, px, symbol
from artificer.render.charts.measure import FONT, width
from artificer.render.charts.style import INK, ChartSpec
from artificer.render.numbers import NumberForm

_ROW = 20
"""Height of a row of names, in pixels."""

_LONG, _SHORT = 22, 11
"""Width of a piece of a line, and of a shape."""

_STEP, _STEP_HEIGHT = 44, 10
_BELOW = 12
"""Between a legend and the drawing."""


class LegendEntry(Struct, frozen=True):
    """A name of a series, with how it is drawn."""

    name: str
    colour: str
    line: bool = False
    dash: str = ""
    shape: str = ""

    @property
    def swatch(self) -> int:
        """The width of what stands before the name."""
        return _LONG if self.line else _SHORT

    @property
    def length(self) -> float:
        """The width of the whole entry."""
        return self.swatch + 6 + width(self.name)


class Legend(Struct, frozen=True):
    """A legend as it will be drawn: rows of names, or steps of colours."""

    rows: tuple[tuple[LegendEntry, ...], ...] = ()
    colours: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    title: str = ""

    @property
    def height(self) -> float:
        """Its height, with the gap below it; nothing if there is no legend."""
        if self.colours:
            return _STEP_HEIGHT + LINE + 4 + _BELOW + (LINE + 4 if self.title else 0)
        return _ROW * len(self.rows) + (_BELOW if self.rows else 0)


def legend_of(layers: Sequence[Layer], room: float, numbers: NumberForm) -> Legend:
    """Return the legend of a view that is ``room`` pixels wide."""
    for layer in layers:
        colour = layer.encoding.get("color", {})
        if colour.get("scale", {}) and "legend" in colour and colour["legend"] is not None:
            if colour["scale"].get("type") == "threshold":
                return _steps(colour, numbers)
            return Legend(_in_rows(_entries(layers, colour["scale"]), room))
    return Legend()


def _steps(colour: ChartSpec, numbers: NumberForm) -> Legend:
    """Return the colours of a heat map with the numbers between them."""
    edges = colour["legend"]["values"]
    shown = [numbers.signed(edge) for edge in edges]
    return Legend(
        (), tuple(colour["scale"]["range"]), tuple(shown), colour["legend"]["title"] or ""
    )


def _entries(layers: Sequence[Layer], scale: ChartSpec) -> list[LegendEntry]:
    """Return the names, each with the marks that show it."""
    marks: dict[str, dict[str, Layer]] = {name: {} for name in scale["domain"]}
    for layer in layers:
        field = layer.encoding.get("color", {}).get("field")
        for name in dict.fromkeys(row[field] for row in layer.rows) if field else ():
            marks[name].setdefault(layer.mark["type"], layer)
    entries = []
    for name, colour in zip(scale["domain"], scale["range"], strict=True):
        line, point = marks[name].get("line"), marks[name].get("point")
        dash = chosen(line, "strokeDash", name) if line else None
        shape = chosen(point, "shape", name) or "circle" if point else ""
        entries.append(LegendEntry(name, colour, bool(line), dashes(dash), shape))
    return entries


def chosen(layer: Layer, channel: str, name: str) -> Any:
    """Return what a channel gives to a name; None if the layer does not have it."""
    scale = layer.encoding.get(channel, {}).get("scale")
    return dict(zip(scale["domain"], scale["range"], strict=True))[name] if scale else None


def dashes(pattern: Sequence[int] | None) -> str:
    """Return the pattern of a line as SVG has it; "" for a line without gaps."""
    return "" if not pattern or tuple(pattern) == (1, 0) else ",".join(map(str, pattern))


def _in_rows(entries: Sequence[LegendEntry], room: float) -> tuple[tuple[LegendEntry, ...], ...]:
    rows: list[list[LegendEntry]] = []
    left = 0.0
    for entry in entries:
        if not rows or left < entry.length:
            rows.append([])
            left = room
        rows[-1].append(entry)
        left -= entry.length + 18
    return tuple(map(tuple, rows))


def draw_legend(into: Element, legend: Legend, x: float, y: float, room: float) -> None:
    """Draw a legend whose upper left corner is at ``x`` and ``y``."""
    if legend.colours:
        _draw_steps(into, legend, x, y, room)
    for number, row in enumerate(legend.rows):
        at, middle = x, y + _ROW * number + _ROW / 2
        for entry in row:
            _draw_swatch(into, entry, at, middle)
            name = WordStyle(fill=INK)
            words(into, at + entry.swatch + 6, middle + FONT * 0.32, entry.name, name)
            at += entry.length + 18


def _draw_swatch(into: Element, entry: LegendEntry, x: float, y: float) -> None:
    if entry.line:
        d = f"M{px(x)},{px(y)}h{entry.swatch}"
        path(into, d, stroke(entry.colour, 2.25, entry.dash))
    if entry.shape:
        at = f"translate({px(x + entry.swatch / 2)},{px(y)})"
        path(into, symbol(entry.shape, 60), {"fill": entry.colour, "transform": at})
    elif not entry.line:
        half = entry.swatch / 2
        path(into, bar(x, y - half, x + entry.swatch, y + half), {"fill": entry.colour})


def _draw_steps(into: Element, legend: Legend, x: float, y: float, room: float) -> None:
    if legend.title:
        words(into, x, y + FONT * 0.79, legend.title, WordStyle())
        y += LINE + 4
    widest = max(map(width, legend.edges)) + 8
    step = min(max(_STEP, widest), (room - widest) / len(legend.colours))
    x += max(0, width(legend.edges[0]) / 2 - 1)
    for number, colour in enumerate(legend.colours):
        at = x + number * step
        path(into, bar(at, y, at + step, y + _STEP_HEIGHT), {"fill": colour})
    every = 1 if step >= widest - 4 else 2
    for number, edge in enumerate(legend.edges):
        if number % every == 0:
            style = WordStyle(anchor="middle")
            words(into, x + number * step, y + _STEP_HEIGHT + LINE, edge, style)
