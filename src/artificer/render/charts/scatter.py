"""Scatter charts."""

from __future__ import annotations

from artificer.artifacts.chart import ScatterChart
from artificer.render.charts.encoding import frame, scale, series_encoding, series_names, value_axis
from artificer.render.charts.labels import CORNERS, Spot, corners
from artificer.render.charts.measure import fitted
from artificer.render.charts.style import SHAPES, SOFT, WIDTH, ChartSpec
from artificer.render.text import one_line

_HEIGHT = 340
_MARGIN = 0.06
"""Margin beyond the outermost points, as a share of the distance between them."""


def scatter(chart: ScatterChart) -> ChartSpec:
    """Return points by two measures, with as many labels as fit."""
    names = series_names(chart.series)
    rows: list[ChartSpec] = [
        {"series": name, "x": p.x, "y": p.y, "label": fitted(one_line(p.label), 155)}
        for name, s in zip(names, chart.series, strict=True)
        for p in s.points
    ]
    axes = {axis: value_axis([r[axis] for r in rows], field=axis, from_zero=False) for axis in "xy"}
    for axis in "xy":
        axes[axis]["scale"] = {"domain": _domain(rows, axis), "nice": False, "zero": False}
    colour = series_encoding(names)
    shape = scale("series", names, SHAPES) | {"legend": colour["color"].get("legend")}
    layers: list[ChartSpec] = [
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.85},
            "encoding": {**axes, **colour, "shape": shape},
        }
    ]
    for row, corner in zip(rows, corners(_spots(rows), WIDTH - 60), strict=True):
        row |= {place: row["label"] if place == corner else "" for place in CORNERS}
    for place, (dx, dy) in CORNERS.items():
        align = "left" if dx > 0 else "right"
        mark = {"type": "text", "align": align, "dx": dx, "dy": dy, "color": SOFT}
        text = {"field": place, "type": "nominal"}
        if any(row[place] for row in rows):
            layers.append({"mark": mark, "encoding": {**axes, "text": text}})
    return {**frame(rows, _HEIGHT), "layer": layers}


def _domain(rows: list[ChartSpec], axis: str) -> list[float]:
    """Return the ends of an axis: the range of the values plus a margin."""
    values = [float(row[axis]) for row in rows]
    low, high = min(values), max(values)
    margin = (high - low) * _MARGIN or abs(low) / 2 or 1.0
    return [low - margin, high + margin]


def _spots(rows: list[ChartSpec]) -> list[Spot]:
    """Return the estimated positions of the points, before they are drawn."""

    def along(axis: str, length: float) -> list[float]:
        low, high = _domain(rows, axis)
        return [(row[axis] - low) / (high - low) * length for row in rows]

    xs, ys = along("x", WIDTH - 60), along("y", _HEIGHT)
    return [Spot(x, _HEIGHT - y, row["label"]) for x, y, row in zip(xs, ys, rows, strict=True)]
