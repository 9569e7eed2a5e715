"""Line charts and area charts."""

from __future__ import annotations

from artificer.artifacts.chart import AreaChart, LineChart
from artificer.render.charts.encoding import (
    category_axis,
    frame,
    rows_of,
    scale,
    series_encoding,
    unique,
    value_axis,
    values_of,
)
from artificer.render.charts.style import DASHES, HEIGHT, SHAPES, Spec


def lines(chart: LineChart | AreaChart) -> Spec:
    """A line for each series, with points; in an area chart the area below it is tinted."""
    names = unique([s.name for s in chart.series])
    filled = isinstance(chart, AreaChart)
    title = "" if len(names) > 1 else chart.series[0].name
    y = value_axis(values_of(chart), title=title, from_zero=filled)
    position: Spec = {"x": category_axis(chart.labels, upright=True, line=True), "y": y}
    colour = series_encoding(names)
    shape = scale("series", names, SHAPES) | {"legend": colour["color"].get("legend")}
    dash = scale("series", names, DASHES) | {"legend": None}
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2.25, "strokeJoin": "round"},
        "encoding": {**position, **colour, "strokeDash": dash},
    }
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 44, "opacity": 1},
        "encoding": {**position, **colour, "shape": shape},
    }
    layers = [line, points]
    if filled:
        area = {
            "mark": {"type": "area", "fillOpacity": 0.16},
            "encoding": {**position, "y": {**y, "stack": None}, **colour},
        }
        layers.insert(0, area)
    return {**frame(rows_of(chart, names), HEIGHT), "layer": layers}
