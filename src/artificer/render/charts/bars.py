"""Bar charts and stacked bar charts."""

from __future__ import annotations

from artificer.artifacts.chart import BarChart, StackedBarChart
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    category_axis,
    fits_below,
    frame,
    known,
    labels_below,
    labels_beside,
    number,
    reference_layers,
    rows_of,
    series_encoding,
    series_names,
    step_beside,
    value_axis,
    zero_line,
)
from artificer.render.charts.measure import width
from artificer.render.charts.style import PAPER, Canvas, ChartSpec

_THINNEST = 7
"""The thinnest upright bar, in pixels. Below it a chart lies down, where it can be taller."""

_VALUES_SHOWN = 12
"""Up to this many bars have their values at their ends."""


def bars(chart: BarChart | StackedBarChart, canvas: Canvas) -> ChartSpec:
    """Return bars side by side or stacked; columns when vertical and there is room for them."""
    stacked = isinstance(chart, StackedBarChart)
    several = len(chart.series) > 1
    lanes = 1 if stacked else len(chart.series)
    upright = chart.orientation == "vertical" and _stands(chart.labels, lanes, canvas)
    names = series_names(chart.series, canvas)
    labels = (labels_below if upright else labels_beside)(chart.labels, canvas)
    along, across = ("x", "y") if upright else ("y", "x")
    values = covered(chart)
    title = chart.value_title or ("" if several else chart.series[0].name)
    axis = value_axis(
        [*values, *(r.value for r in chart.references)], title=axis_title(title, chart.unit, canvas)
    )
    encoding: ChartSpec = {
        along: category_axis(labels, canvas, upright=upright, lanes=lanes, title=chart.label_title),
        across: axis,
        **series_encoding(names, canvas),
        **TIP,
    }
    mark: ChartSpec = {"type": "bar", "cornerRadiusEnd": 0 if stacked else 2}
    if stacked:
        mark |= {"stroke": PAPER, "strokeWidth": 1}
        encoding |= {"order": {"field": "series_order", "type": "quantitative"}}
    elif several:
        encoding[along + "Offset"] = {"field": "series", "type": "nominal", "sort": names}
    rows = rows_of(chart.series, names, (labels, chart.labels), canvas, chart.unit)
    layers: list[ChartSpec] = [{"mark": mark, "encoding": encoding}]
    if not several and _values_fit(known(chart.series[0].values), len(labels), canvas, upright):
        layers += _with_values(rows, encoding, along, across)
        if min(values) < 0:
            axis["scale"] |= {"padding": 18 if upright else 36}
    layers += zero_line(upright=upright)
    layers += reference_layers(chart.references, axis, canvas, chart.unit, upright=upright)
    height = canvas.height if upright else max(120, step_beside(labels, lanes) * len(labels))
    return {**frame(rows, canvas, height), "layer": layers}


def covered(chart: BarChart | StackedBarChart) -> list[float]:
    """Return the values that the axis must cover: for stacks, their sums."""
    if isinstance(chart, StackedBarChart):
        columns = zip(*(s.values for s in chart.series), strict=True)
        return [sum(known(column)) for column in columns]
    return [value for s in chart.series for value in known(s.values)]


def _stands(labels: tuple[str, ...], lanes: int, canvas: Canvas) -> bool:
    """Return whether the bars are wide enough to stand, each above the whole of its label."""
    thick = canvas.column(len(labels)) * 0.64 / lanes >= _THINNEST
    return thick and fits_below(labels, canvas)


def _values_fit(values: list[float], count: int, canvas: Canvas, upright: bool) -> bool:
    if count > _VALUES_SHOWN:
        return False
    longest = max((width(number(value, canvas)) for value in values), default=0)
    return longest <= (canvas.column(count) if upright else canvas.inner / 3)


def _with_values(
    rows: list[ChartSpec], encoding: ChartSpec, along: str, across: str
) -> list[ChartSpec]:
    """Add the value beyond the end of each bar, outside it also below zero."""
    upright = along == "x"
    places: dict[str, ChartSpec] = {
        "above": {"dy": -8} if upright else {"dx": 6, "align": "left"},
        "below": {"dy": 9} if upright else {"dx": -6, "align": "right"},
    }
    for row in rows:
        place = "below" if (row["value"] or 0) < 0 else "above"
        row |= {p: row["shown"] if p == place else "" for p in places}
    return [
        {
            "mark": {"type": "text", "aria": False, **place},
            "encoding": {
                along: encoding[along],
                across: encoding[across],
                "text": {"field": name, "type": "nominal"},
            },
        }
        for name, place in places.items()
        if any(row[name] for row in rows)
    ]
