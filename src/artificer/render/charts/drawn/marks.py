"""The marks of a view: each function draws the rows of one layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from artificer.errors import InvariantError
from artificer.render.charts.drawn import shapes
from artificer.render.charts.drawn.ink import (
    ANCHORS,
    BASELINES,
    Paint,
    WordStyle,
    path,
    stroke,
    words,
)
from artificer.render.charts.drawn.layers import DataRow, Layer
from artificer.render.charts.drawn.legend import chosen, dashes
from artificer.render.charts.drawn.plot import Plot
from artificer.render.charts.drawn.shapes import PixelPlace, px
from artificer.render.charts.measure import FONT, width
from artificer.render.charts.style import INK, PALETTE, ChartSpec

PlacedRows = list[tuple[DataRow, PixelPlace | None]]


def draw_marks(into: Element, plot: Plot, layer: Layer) -> None:
    """Draw a layer.

    Raises:
        InvariantError: its mark is none that these charts use.
    """
    drawer = _MARKS.get(layer.mark["type"])
    if drawer is None:
        raise InvariantError(f"A mark {layer.mark['type']!r} cannot be drawn.")
    drawer(into, plot, layer)


def _paint(layer: Layer, row: DataRow) -> Paint:
    """Return how a filled shape is painted."""
    mark, colour = layer.mark, _colour(layer, row)
    paint: Paint = {"fill": colour}
    if edge := mark.get("stroke"):
        paint |= {"stroke": edge, "stroke-width": mark.get("strokeWidth", 1)}
    shade = layer.encoding.get("fillOpacity", {}).get("field")
    opacity = row[shade] if shade else mark.get("fillOpacity", mark.get("opacity", 1))
    return paint if opacity == 1 else {**paint, "fill-opacity": opacity}


def _colour(layer: Layer, row: DataRow) -> str:
    colour = layer.encoding.get("color")
    if colour is None:
        return str(layer.mark.get("color", PALETTE[0]))
    if "value" in colour:
        return str(colour["value"])
    scale, value = colour.get("scale"), row[colour["field"]]
    if scale is None:
        return str(value)
    if value is None:
        return str(colour["condition"]["value"])
    if scale.get("type") == "threshold":
        return str(scale["range"][sum(value >= edge for edge in scale["domain"])])
    return str(chosen(layer, "color", value))


def _title(layer: Layer, row: DataRow) -> str:
    field = layer.encoding.get("description", {}).get("field")
    return str(row[field]) if field else ""


def _bars(into: Element, plot: Plot, layer: Layer) -> None:
    upright = plot.is_banded(layer, "x")
    along, across = ("x", "y") if upright else ("y", "x")
    sums: dict[Any, float] = {}
    radius = layer.mark.get("cornerRadiusEnd", 0) * (1 if upright else -1)
    for row in layer.rows:
        value = row[layer.encoding[across]["field"]]
        if value is None:
            continue
        start, end = plot.band(layer, row, along)
        base = 0.0
        if across + "2" in layer.encoding:
            base = row[layer.encoding[across + "2"]["field"]]
        elif layer.stacked:
            label = row[layer.encoding[along]["field"]]
            base = sums.get(label, 0.0)
            value = sums[label] = base + value
        low, high = plot.at(layer, across, base), plot.at(layer, across, value)
        box = (start, low, end, high) if upright else (low, start, high, end)
        path(into, shapes.bar(*box, radius), _paint(layer, row), _title(layer, row))


def _rectangles(into: Element, plot: Plot, layer: Layer) -> None:
    for row in layer.rows:
        (x0, x1), (y0, y1) = plot.span(layer, row, "x"), plot.span(layer, row, "y")
        path(into, shapes.bar(x0, y0, x1, y1), _paint(layer, row), _title(layer, row))


def _series(plot: Plot, layer: Layer) -> Iterator[PlacedRows]:
    """Yield the rows of each series with their places; None if a value is missing."""
    field = layer.encoding.get("color", {}).get("field")
    found: dict[Any, PlacedRows] = {}
    for row in layer.rows:
        found.setdefault(row[field] if field else "", []).append((row, plot.place(layer, row)))
    yield from found.values()


def _lines(into: Element, plot: Plot, layer: Layer) -> None:
    for series in _series(plot, layer):
        row = series[0][0]
        dash = dashes(chosen(layer, "strokeDash", row["series"]))
        paint = stroke(_colour(layer, row), layer.mark["strokeWidth"], dash)
        d = "".join(shapes.polyline(run) for run in shapes.runs([at for _, at in series]))
        if d:
            path(into, d, {**paint, "stroke-linejoin": "round"})


def _areas(into: Element, plot: Plot, layer: Layer) -> None:
    base = plot.at(layer, "y", 0)
    for series in _series(plot, layer):
        for run in shapes.runs([at for _, at in series]):
            outline = [*run, (run[-1][0], base), (run[0][0], base)]
            path(into, shapes.polygon(outline), _paint(layer, series[0][0]))


def _points(into: Element, plot: Plot, layer: Layer) -> None:
    mark = layer.mark
    for row in layer.rows:
        place = plot.place(layer, row)
        if place is None:
            continue
        varied = chosen(layer, "shape", row["series"]) if "shape" in layer.encoding else None
        paint = _paint(layer, row)
        if not mark.get("filled"):
            paint = stroke(_colour(layer, row), 1.5)
        d = shapes.symbol(varied or mark.get("shape", "circle"), mark["size"])
        paint["transform"] = f"translate({px(place[0])},{px(place[1])})"
        path(into, d, paint, _title(layer, row))


def _rules(into: Element, plot: Plot, layer: Layer) -> None:
    mark = layer.mark
    paint = stroke(mark["color"], mark.get("strokeWidth", 1), dashes(mark.get("strokeDash")))
    for row in layer.rows:
        (x0, x1), (y0, y1) = plot.reach(layer, row, "x"), plot.reach(layer, row, "y")
        path(into, shapes.polyline([(x0, y0), (x1, y1)]), paint)


def _ticks(into: Element, plot: Plot, layer: Layer) -> None:
    upright = plot.is_banded(layer, "x")
    for row in layer.rows:
        place = plot.place(layer, row)
        start, end = plot.band(layer, row, "x" if upright else "y")
        if place is not None:
            ends = [(start, place[1]), (end, place[1])]
            ends = ends if upright else [(place[0], start), (place[0], end)]
            paint = stroke(layer.mark["color"], layer.mark["thickness"])
            path(into, shapes.polyline(ends), paint)


def _texts(into: Element, plot: Plot, layer: Layer) -> None:
    mark, field = layer.mark, layer.encoding["text"]["field"]
    if "theta" in layer.encoding:
        _around(into, plot, layer)
        return
    size = mark.get("fontSize", FONT)
    style = WordStyle(
        ANCHORS[mark.get("align", "center")],
        mark.get("color", INK),
        size,
        str(mark.get("fontWeight", "")),
        0,
        mark.get("lineHeight", 14),
    )
    down = mark.get("dy", 0) + BASELINES[mark.get("baseline", "middle")] * size
    for row in layer.rows:
        place = plot.place(layer, row)
        if row[field] and place is not None:
            words(into, *_turned(place[0], place[1] + down, row[field], style, plot, mark))


def _turned(
    x: float, y: float, text: str, style: WordStyle, plot: Plot, mark: ChartSpec
) -> tuple[float, float, str, WordStyle]:
    """Return where words are written: on the other side of their place where they reach out."""
    beside = mark.get("dx", 0)
    if style.anchor == "start" and plot.framed and x + beside + width(text) > plot.width:
        return x - beside, y, text, replace(style, anchor="end")
    return x + beside, y, text, style


def _angles(layer: Layer) -> Iterator[tuple[DataRow, float, float]]:
    """Yield the rows of a disc with the angles at which their segments begin and end."""
    field = layer.encoding["theta"]["field"]
    whole = sum(row[field] for row in layer.rows)
    start = 0.0
    for row in layer.rows:
        end = start + row[field] / whole * 2 * math.pi
        yield row, start, end
        start = end


def _arcs(into: Element, plot: Plot, layer: Layer) -> None:
    middle = f"translate({px(plot.width / 2)},{px(plot.height / 2)})"
    for row, start, end in _angles(layer):
        d = shapes.segment(layer.mark["outerRadius"], start, end)
        path(into, d, {"transform": middle, **_paint(layer, row)}, _title(layer, row))


def _around(into: Element, plot: Plot, layer: Layer) -> None:
    mark = layer.mark
    style = WordStyle("middle", mark["color"], mark["fontSize"])
    for row, start, end in _angles(layer):
        x, y = shapes.around(mark["radius"], (start + end) / 2)
        y += plot.height / 2 + 0.3 * style.size
        if text := row[layer.encoding["text"]["field"]]:
            words(into, x + plot.width / 2, y, text, style)


_MARKS: dict[str, Callable[[Element, Plot, Layer], None]] = {
    "arc": _arcs,
    "area": _areas,
    "bar": _bars,
    "line": _lines,
    "point": _points,
    "rect": _rectangles,
    "rule": _rules,
    "text": _texts,
    "tick": _ticks,
}
