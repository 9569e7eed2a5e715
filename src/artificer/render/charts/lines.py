"""Line charts and area charts."""

from __future__ import annotations

from artificer.artifacts.chart import AreaChart, LineChart
from artificer.render.charts.encoding import (
    category_axis,
    category_labels,
    frame,
    rows_of,
    scale,
    series_encoding,
    series_names,
    value_axis,
    values_of,
)
from artificer.render.charts.style import DASHES, HEIGHT, SHAPES, ChartSpec


def lines(chart: LineChart | AreaChart) -> ChartSpec:
    """Return a line with points for each series; an area chart tints the area below it.

    A line chart may omit zero when it would flatten the data; an area chart may not.
    """
    names = series_names(chart.series)
    labels = category_labels(chart.labels, upright=True)
    filled = isinstance(chart, AreaChart)
    title = "" if len(names) > 1 else chart.series[0].name
    values = values_of(chart)
    y = value_axis(values, title=title, from_zero=filled or min(values) < max(values) / 2)
    position: ChartSpec = {"x": category_axis(labels, upright=True, signed=min(values) < 0), "y": y}
    colour = series_encoding(names)
    shape = scale("series", names, SHAPES) | {"legend": colour["color"].get("legend")}
    dash = scale("series", names, DASHES) | {"legend": None}
    line: ChartSpec = {
        "mark": {"type": "line", "strokeWidth": 2.25, "strokeJoin": "round"},
        "encoding": {**position, **colour, "strokeDash": dash},
    }
    points: ChartSpec = {
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
    return {**frame(rows_of(chart, names, labels), HEIGHT), "layer": layers}
