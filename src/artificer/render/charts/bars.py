"""Bar charts and stacked bar charts."""

from __future__ import annotations

from artificer.artifacts.chart import BarChart, StackedBarChart
from artificer.render.charts.encoding import (
    category_axis,
    frame,
    rows_of,
    series_encoding,
    unique,
    value_axis,
    values_of,
)
from artificer.render.charts.style import HEIGHT, PAPER, Spec


def bars(chart: BarChart | StackedBarChart) -> Spec:
    """Bars beside each other, or stacked; columns when vertical."""
    stacked = isinstance(chart, StackedBarChart)
    upright = chart.orientation == "vertical"
    several = len(chart.series) > 1
    names = unique([s.name for s in chart.series])
    along, across = ("x", "y") if upright else ("y", "x")
    encoding: Spec = {
        along: category_axis(chart.labels, upright=upright),
        across: value_axis(values_of(chart), title="" if several else chart.series[0].name),
        **series_encoding(names),
    }
    mark: Spec = {"type": "bar", "cornerRadiusEnd": 0 if stacked else 2}
    if stacked:
        mark |= {"stroke": PAPER, "strokeWidth": 1}
        encoding |= {"order": {"field": "series_order", "type": "quantitative"}}
    elif several:
        encoding[along + "Offset"] = {"field": "series", "type": "nominal", "sort": names}
    lanes = len(chart.labels) * (1 if stacked else len(chart.series))
    height = HEIGHT if upright else min(900, max(120, 14 * len(chart.labels) + 16 * lanes))
    bars: Spec = {"mark": mark, "encoding": encoding}
    if several or len(chart.labels) > 12:
        return {**frame(rows_of(chart, names), height), **bars}
    return {**frame(rows_of(chart, names), height), **_with_values(bars, along, across)}


def _with_values(bars: Spec, along: str, across: str) -> Spec:
    """Few bars: the value stands at the end of each."""
    upright = along == "x"
    place: Spec = {"type": "text"} | ({"dy": -8} if upright else {"dx": 6, "align": "left"})
    encoding = {
        along: bars["encoding"][along],
        across: bars["encoding"][across],
        "text": {"field": "shown", "type": "nominal"},
    }
    return {"layer": [bars, {"mark": place, "encoding": encoding}]}
