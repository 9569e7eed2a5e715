"""Scatter charts."""

from __future__ import annotations

from artificer.artifacts.chart import ScatterChart
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    frame,
    number,
    reference_layers,
    scale,
    series_encoding,
    series_names,
    value_axis,
)
from artificer.render.charts.labels import CORNERS, Spot, corners
from artificer.render.charts.measure import fitted
from artificer.render.charts.style import SHAPES, SOFT, Canvas, ChartSpec
from artificer.render.text import one_line

_HEIGHT = 340
_MARGIN = 0.06
"""Margin beyond the outermost points, as a share of the distance between them."""


def scatter(chart: ScatterChart, canvas: Canvas) -> ChartSpec:
    """Return points by two measures, with as many labels as fit."""
    names = series_names(chart.series, canvas)
    rows: list[ChartSpec] = [
        {
            "series": name,
            "x": p.x,
            "y": p.y,
            "label": fitted(one_line(p.label), 155),
            "tip": f"{one_line(p.label or s.name)}: {number(p.x, canvas)}, {number(p.y, canvas)}",
        }
        for name, s in zip(names, chart.series, strict=True)
        for p in s.points
    ]
    titles = {"x": chart.x_title, "y": chart.y_title}
    lines = {"x": [], "y": [r.value for r in chart.references]}
    domains = {axis: _domain([r[axis] for r in rows] + lines[axis]) for axis in "xy"}
    axes = {}
    for axis in "xy":
        title = axis_title(titles[axis], "", canvas)
        values = [r[axis] for r in rows] + lines[axis]
        axes[axis] = value_axis(values, field=axis, title=title, from_zero=False)
        axes[axis]["scale"] = {"domain": domains[axis], "nice": False, "zero": False}
    colour = series_encoding(names, canvas)
    shape = scale("series", names, SHAPES) | {"legend": colour["color"].get("legend")}
    points: ChartSpec = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.85},
        "encoding": {**axes, **colour, "shape": shape, **TIP},
    }
    layers = [points, *_label_layers(rows, domains, axes, canvas)]
    layers += reference_layers(chart.references, axes["y"], canvas, upright=True)
    return {**frame(rows, canvas, _HEIGHT), "layer": layers}


def _label_layers(
    rows: list[ChartSpec], domains: dict[str, list[float]], axes: ChartSpec, canvas: Canvas
) -> list[ChartSpec]:
    """Return the labels that hide nothing, by the corner of their point."""
    chosen = corners(_spots(rows, domains, canvas), canvas.inner)
    for row, corner in zip(rows, chosen, strict=True):
        row |= {place: row["label"] if place == corner else "" for place in CORNERS}
    layers = []
    for place, (dx, dy) in CORNERS.items():
        mark = {"type": "text", "align": "left" if dx > 0 else "right", "dx": dx, "dy": dy}
        text = {"field": place, "type": "nominal"}
        if any(row[place] for row in rows):
            layers.append({"mark": {**mark, "color": SOFT}, "encoding": {**axes, "text": text}})
    return layers


def _domain(values: list[float]) -> list[float]:
    """Return the ends of an axis: the range of the values plus a margin."""
    low, high = float(min(values)), float(max(values))
    margin = (high - low) * _MARGIN or abs(low) / 2 or 1.0
    return [low - margin, high + margin]


def _spots(rows: list[ChartSpec], domains: dict[str, list[float]], canvas: Canvas) -> list[Spot]:
    """Return the estimated positions of the points, before they are drawn."""

    def along(axis: str, length: float) -> list[float]:
        low, high = domains[axis]
        return [(row[axis] - low) / (high - low) * length for row in rows]

    xs, ys = along("x", canvas.inner), along("y", _HEIGHT)
    return [Spot(x, _HEIGHT - y, row["label"]) for x, y, row in zip(xs, ys, rows, strict=True)]
