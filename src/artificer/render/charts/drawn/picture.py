"""The whole drawing: views with their axes and legends, alone or next to each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from msgspec import Struct

from artificer.render.charts.drawn.axes import (
    TITLE,
    Axis,
    axis_of,
    draw_below,
    draw_beside,
    draw_lines,
)
from artificer.render.charts.drawn.ink import WordStyle, words
from artificer.render.charts.drawn.layers import DataRow, above, channel, layers_of
from artificer.render.charts.drawn.legend import draw_legend, legend_of
from artificer.render.charts.drawn.marks import draw_marks
from artificer.render.charts.drawn.plot import Plot
from artificer.render.charts.drawn.shapes import px
from artificer.render.charts.measure import FONT, width
from artificer.render.charts.style import ChartSpec
from artificer.render.numbers import NumberForm

_EDGE = 5
"""Empty on all sides of a drawing, in pixels."""


class Drawing(Struct, frozen=True):
    """The shapes and words of a drawing as SVG, without the element around them."""

    width: int
    height: int
    body: str


def draw(spec: ChartSpec) -> Drawing:
    """Draw a specification. The same one gives the same bytes.

    Raises:
        InvariantError: it has a mark that no chart of ours uses.
    """
    root = Element("g")
    rows = spec.get("data", {}).get("values", ())
    if "hconcat" in spec or "vconcat" in spec:
        right, bottom = _several(root, spec, rows)
    else:
        right, bottom = _Framed(spec, rows).draw(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return Drawing(math.ceil(right), math.ceil(bottom), body)


def _several(root: Element, spec: ChartSpec, rows: Sequence[DataRow]) -> tuple[float, float]:
    """Draw views without axes next to or below each other."""
    level = "hconcat" in spec
    x, y, right, bottom = float(_EDGE), float(_EDGE), 0.0, 0.0
    for view in spec["hconcat" if level else "vconcat"]:
        layers = layers_of(view, rows)
        plot = Plot(layers, view["width"], view["height"])
        into = SubElement(root, "g", {"transform": f"translate({px(x)},{px(y)})"})
        for layer in layers:
            draw_marks(into, plot, layer)
        right, bottom = max(right, x + view["width"]), max(bottom, y + view["height"])
        x += (view["width"] + spec["spacing"]) * level
        y += (view["height"] + spec["spacing"]) * (not level)
    return right + _EDGE, bottom + _EDGE


class _Framed:
    """One view with axes and a legend, as wide as its specification says, all included."""

    def __init__(self, spec: ChartSpec, rows: Sequence[DataRow]) -> None:
        self._layers = layers_of(spec, rows)
        self._outer, self._height = spec["width"], spec["height"]
        locale = spec["config"]["locale"]["number"]
        self._numbers = NumberForm(locale["decimal"], locale["thousands"])
        self._legend = legend_of(self._layers, self._outer - 2 * _EDGE, self._numbers)

    def draw(self, root: Element) -> tuple[float, float]:
        """Draw it, and return its width and height."""
        sides = sorted({layer.side for layer in self._layers})
        first = self._plot(self._outer)
        beside = [self._axis(first, "y", side) for side in sides]
        left, right = self._margins(beside)
        titles = [axis.title if axis else "" for axis in beside]
        rows = _title_rows(titles, self._outer - 2 * _EDGE)
        top = _EDGE + self._legend.height + rows * TITLE + max(FONT / 2, above(self._layers))
        plot = self._plot(self._outer - left - right)
        below = self._axis(plot, "x", 0)
        x = left
        into = SubElement(root, "g", {"transform": f"translate({px(x)},{px(top)})"})
        for axis, across, length in (
            (beside[0], True, plot.width),
            (below, False, plot.height),
        ):
            if axis:
                draw_lines(into, axis, across, length)
        for layer in self._layers:
            draw_marks(into, plot, layer)
        for number, axis in enumerate(beside):
            if axis:
                draw_beside(into, axis, plot.width * number, right=number > 0)
        if below:
            draw_below(into, below, plot.width, plot.height)
        self._draw_titles(root, titles, rows, top)
        draw_legend(root, self._legend, _EDGE, _EDGE, self._outer - 2 * _EDGE)
        return self._outer, top + plot.height + (below.below if below else 0) + _EDGE

    def _plot(self, length: float) -> Plot:
        return Plot(self._layers, length, self._height, framed=True)

    def _axis(self, plot: Plot, name: str, side: int) -> Axis | None:
        definition, scale = channel(self._layers, name, side), plot.scale(name, side)
        if definition is None or scale is None or "axis" not in definition:
            return None
        length = plot.width if name == "x" else plot.height
        return axis_of(definition, scale, length, self._numbers, level=name == "x")

    def _margins(self, beside: Sequence[Axis | None]) -> tuple[float, float]:
        """Return the room at the left and the right: for axes, and for words that reach out."""
        rooms = [axis.beside if axis else 0.0 for axis in beside]
        least = (_EDGE + rooms[0], _EDGE + (rooms[1] if len(rooms) > 1 else 0.0))
        left, right = least
        for _ in range(2):
            length = self._outer - left - right
            below = self._axis(self._plot(length), "x", 0)
            if below:
                out = below.beyond(length)
                left, right = (
                    max(room, _EDGE + reach) for room, reach in zip(least, out, strict=True)
                )
        return left, right

    def _draw_titles(self, root: Element, titles: Sequence[str], rows: int, top: float) -> None:
        """Draw the titles of the axes beside the drawing above it, where they can be read."""
        bottom = top - max(FONT / 2, above(self._layers)) - 9
        for number, title in enumerate(titles):
            if title:
                y = bottom - TITLE * (rows - 1 - (number if rows > 1 else 0))
                x = self._outer - _EDGE if number else float(_EDGE)
                words(root, x, y, title, WordStyle(anchor="end" if number else "start"))


def _title_rows(titles: Sequence[str], room: float) -> int:
    """Return how many rows the titles need."""
    there = [width(title) for title in titles if title]
    return len(there) if sum(there) + 24 * (len(there) - 1) > room else min(1, len(there))
