"""Bar charts and stacked bar charts."""

from __future__ import annotations

from artificer.artifacts.chart import BarChart, StackedBarChart
from artificer.render.charts.encoding import (
    category_axis,
    category_labels,
    frame,
    rows_of,
    series_encoding,
    series_names,
    value_axis,
    values_of,
)
from artificer.render.charts.style import HEIGHT, PAPER, ChartSpec


def bars(chart: BarChart | StackedBarChart) -> ChartSpec:
    """Return bars side by side or stacked; columns when vertical."""
    stacked = isinstance(chart, StackedBarChart)
    upright = chart.orientation == "vertical"
    several = len(chart.series) > 1
    names = series_names(chart.series)
    labels = category_labels(chart.labels, upright=upright)
    along, across = ("x", "y") if upright else ("y", "x")
    lanes = 1 if stacked else len(names)
    values = values_of(chart)
    encoding: ChartSpec = {
        along: category_axis(labels, upright=upright, lanes=lanes, signed=min(values) < 0),
        across: value_axis(values, title="" if several else chart.series[0].name),
        **series_encoding(names),
    }
    mark: ChartSpec = {"type": "bar", "cornerRadiusEnd": 0 if stacked else 2}
    if stacked:
        mark |= {"stroke": PAPER, "strokeWidth": 1}
        encoding |= {"order": {"field": "series_order", "type": "quantitative"}}
    elif several:
        encoding[along + "Offset"] = {"field": "series", "type": "nominal", "sort": names}
    height = HEIGHT if upright else min(900, max(120, (14 + 16 * lanes) * len(labels)))
    drawn: ChartSpec = {"mark": mark, "encoding": encoding}
    if not several and len(labels) <= 12:
        drawn = _with_values(drawn, along, across)
    return {**frame(rows_of(chart, names, labels), height), **drawn}


def _with_values(drawn: ChartSpec, along: str, across: str) -> ChartSpec:
    """Add the value at the end of each bar; used when there are few bars."""
    upright = along == "x"
    place: ChartSpec = {"type": "text"} | ({"dy": -8} if upright else {"dx": 6, "align": "left"})
    encoding = {
        along: drawn["encoding"][along],
        across: drawn["encoding"][across],
        "text": {"field": "shown", "type": "nominal"},
    }
    return {"layer": [drawn, {"mark": place, "encoding": encoding}]}
