"""Bars and lines over the same categories."""

from __future__ import annotations

from artificer.artifacts.more_charts import CombinedChart
from artificer.render.charts.drawn.ticks import even_steps
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    category_axis,
    frame,
    known,
    labels_below,
    reference_layers,
    rows_of,
    series_encoding,
    series_names,
    value_axis,
)
from artificer.render.charts.style import Canvas, ChartSpec


def combined(chart: CombinedChart, canvas: Canvas) -> ChartSpec:
    """Return bars side by side and lines above them, with one legend.

    With ``second_axis`` the lines have their own axis, at the right. Both axes begin at zero, and
    have their numbers at the same lines if nothing is below it.
    """
    names = series_names((*chart.bars, *chart.lines), canvas)
    labels = labels_below(chart.labels, canvas)
    of_bars, of_lines = names[: len(chart.bars)], names[len(chart.bars) :]
    colour = series_encoding(names, canvas)
    x = category_axis(labels, canvas, upright=True, lanes=len(chart.bars), title=chart.label_title)
    left, right = _axes(chart, canvas)
    offset = {"xOffset": {"field": "series", "type": "nominal", "sort": of_bars}}
    keys = (labels, chart.labels)
    bars: ChartSpec = {
        "data": {"values": rows_of(chart.bars, of_bars, keys, canvas, chart.unit)},
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {"x": x, "y": left, **colour, **(offset if len(of_bars) > 1 else {}), **TIP},
    }
    references = reference_layers(chart.references, left, canvas, chart.unit, upright=True)
    rows = rows_of(chart.lines, of_lines, keys, canvas, chart.unit_of_lines)
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
    layers = [{"layer": [bars, *references]} if references else bars, lines]
    return {**whole, "layer": layers, **({"resolve": resolve} if resolve else {})}


def _axes(chart: CombinedChart, canvas: Canvas) -> tuple[ChartSpec, ChartSpec]:
    """Return the axis of the bars and that of the lines, which may be the same."""
    bars = [value for s in chart.bars for value in known(s.values)]
    bars += [r.value for r in chart.references]
    lines = [value for s in chart.lines for value in known(s.values)]
    title = axis_title(chart.value_title, chart.unit, canvas)
    if not chart.second_axis:
        both = value_axis([*bars, *lines], title=title)
        return both, both
    left = value_axis(bars, title=title)
    right = value_axis(lines, title=axis_title(chart.line_title, chart.line_unit, canvas))
    right["axis"] |= {"orient": "right", "grid": False}
    highest = max(bars, default=0), max(lines, default=0)
    if min((*bars, *lines), default=0) >= 0 and min(highest) > 0:
        for axis, values in zip((left, right), even_steps(*highest), strict=True):
            axis["axis"]["values"] = list(values)
            axis["scale"] = {"domain": [values[0], values[-1]], "nice": False, "zero": True}
    return left, right
