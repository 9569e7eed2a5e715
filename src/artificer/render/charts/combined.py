"""Bars and lines over the same categories."""

from __future__ import annotations

from artificer.artifacts.more_charts import CombinedChart
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    category_axis,
    frame,
    known,
    labels_below,
    rows_of,
    series_encoding,
    series_names,
    value_axis,
)
from artificer.render.charts.style import Canvas, ChartSpec


def combined(chart: CombinedChart, canvas: Canvas) -> ChartSpec:
    """Return bars side by side and lines above them, with one legend.

    With ``second_axis`` the lines have their own axis, at the right. Both axes begin at zero.
    """
    names = series_names((*chart.bars, *chart.lines), canvas)
    labels = labels_below(chart.labels, canvas)
    of_bars, of_lines = names[: len(chart.bars)], names[len(chart.bars) :]
    colour = series_encoding(names, canvas)
    x = category_axis(labels, canvas, upright=True, lanes=len(chart.bars), title=chart.label_title)
    bar_values = [value for s in chart.bars for value in known(s.values)]
    line_values = [value for s in chart.lines for value in known(s.values)]
    every = [*bar_values, *line_values]
    left = value_axis(
        bar_values if chart.second_axis else every, title=axis_title(chart.value_title, "", canvas)
    )
    right = left
    if chart.second_axis:
        right = value_axis(line_values, title=axis_title(chart.line_title, "", canvas))
        right["axis"] |= {"orient": "right", "grid": False}
    offset = {"xOffset": {"field": "series", "type": "nominal", "sort": of_bars}}
    keys = (labels, chart.labels)
    columns: ChartSpec = {
        "data": {"values": rows_of(chart.bars, of_bars, keys, "")},
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {"x": x, "y": left, **colour, **(offset if len(of_bars) > 1 else {}), **TIP},
    }
    rows = rows_of(chart.lines, of_lines, keys, "")
    position = {"x": {**x, "bandPosition": 0.5}, "y": right, **colour}
    line = {"type": "line", "strokeWidth": 2.25, "strokeJoin": "round", "aria": False}
    point = {"type": "point", "filled": True, "size": 54, "opacity": 1}
    lines: ChartSpec = {
        "data": {"values": rows},
        "layer": [
            {"mark": line, "encoding": position},
            {"mark": point, "encoding": {**position, **TIP}},
        ],
    }
    resolve = {"scale": {"y": "independent"}} if chart.second_axis else {}
    whole = frame([], canvas, canvas.height)
    return {**whole, "layer": [columns, lines], **({"resolve": resolve} if resolve else {})}
