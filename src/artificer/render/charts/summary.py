"""A chart in one or two sentences, for readers who do not see the drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from artificer.artifacts.chart import (
    AreaChart,
    BarChart,
    Chart,
    LineChart,
    PieChart,
    ScatterChart,
    StackedBarChart,
)
from artificer.artifacts.chart_fields import Series
from artificer.artifacts.more_charts import (
    BoxPlotChart,
    CombinedChart,
    HeatMapChart,
    HistogramChart,
)
from artificer.render.charts.bins import bins_of
from artificer.render.charts.words import kind_name
from artificer.render.text import figure, one_line, percent

CategoryChart = BarChart | LineChart | AreaChart | StackedBarChart
"""The charts that hold a value for each label and series."""

_Cell = tuple[float, str, str]
"""A value, its series and its label."""


def summary(chart: Chart) -> str:
    """Return one or two sentences that describe the drawing."""
    return _SUMMARIES[type(chart)](chart)


def _pie(chart: PieChart) -> str:
    whole = sum(s.value for s in chart.segments)
    largest = max(chart.segments, key=lambda s: s.value)
    least = min(chart.segments, key=lambda s: s.value)
    count = len(chart.segments)
    if count == 1:
        return f"Pie chart of one segment: {one_line(largest.label)}, {figure(largest.value)}."
    return (
        f"Pie chart of {count} segments. Largest: {one_line(largest.label)},"
        f" {percent(largest.value, whole)}; smallest: {one_line(least.label)},"
        f" {percent(least.value, whole)}."
    )


def _scatter(chart: ScatterChart) -> str:
    points = [p for s in chart.series for p in s.points]
    xs, ys = [p.x for p in points], [p.y for p in points]
    return (
        f"Scatter chart of {len(points)} point{'s' * (len(points) > 1)} in {len(chart.series)}"
        f" series; x from {figure(min(xs))} to {figure(max(xs))},"
        f" y from {figure(min(ys))} to {figure(max(ys))}."
    )


def _histogram(chart: HistogramChart) -> str:
    bins = bins_of(chart)
    fullest = max(bins, key=lambda b: b.count)
    return (
        f"Histogram of {len(chart.values)} values from {figure(min(chart.values))} to"
        f" {figure(max(chart.values))}. Most lie from {figure(fullest.low)} to"
        f" {figure(fullest.high)}: {fullest.count}."
    )


def _heat_map(chart: HeatMapChart) -> str:
    cells = [
        (value, row.label, column)
        for row in chart.rows
        for column, value in zip(chart.columns, row.values, strict=True)
        if value is not None
    ]
    opening = f"Heat map of {len(chart.rows)} rows and {len(chart.columns)} columns."
    return f"{opening} {_ends(cells, several=True, what='')}"


def _boxes(chart: BoxPlotChart) -> str:
    cells = [(_middle(group.values), "", group.label) for group in chart.groups]
    count = len(chart.groups)
    opening = f"Box plot of {count} group{'s' * (count > 1)}."
    return f"{opening} {_ends(cells, several=False, what=' median')}"


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _combined(chart: CombinedChart) -> str:
    count = len(chart.labels)
    opening = (
        f"Bar and line chart of {count} categor{'y' if count == 1 else 'ies'},"
        f" {len(chart.bars)} series as bars and {len(chart.lines)} as lines."
    )
    parts = [
        f"{what}: {_ends(_cells(series, chart.labels), several=len(series) > 1, what='')}"
        for what, series in (("Bars", chart.bars), ("Lines", chart.lines))
        if _cells(series, chart.labels)
    ]
    return " ".join((opening, *parts))


def _cells(series: Sequence[Series], labels: Sequence[str]) -> list[_Cell]:
    return [
        (value, s.name, label)
        for s in series
        for label, value in zip(labels, s.values, strict=True)
        if value is not None
    ]


def _extent(chart: Any) -> str:
    """Return the number of categories and series, and the highest and lowest value."""
    stacked = isinstance(chart, StackedBarChart)
    several = len(chart.series) > 1 and not stacked
    cells = _cells(chart.series, chart.labels)
    if stacked:
        stacks = zip(*(s.values for s in chart.series), strict=True)
        sums = (sum(v for v in values if v is not None) for values in stacks)
        cells = [(total, "", label) for label, total in zip(chart.labels, sums, strict=True)]
    count = len(chart.labels)
    opening = f"{kind_name(chart)} of {count} categor{'y' if count == 1 else 'ies'}"
    opening += f" and {len(chart.series)} series." if len(chart.series) > 1 else "."
    missing = sum(value is None for s in chart.series for value in s.values)
    gaps = f" {missing} value{'s are' if missing > 1 else ' is'} missing." if missing else ""
    return f"{opening} {_ends(cells, several=several, what=' total' if stacked else '')}{gaps}"


def _ends(cells: Sequence[_Cell], *, several: bool, what: str) -> str:
    """Return the highest and the lowest value, and where they are."""

    def place(cell: _Cell) -> str:
        value, name, label = cell
        where = f"{one_line(name)}, {one_line(label)}" if several else one_line(label)
        return f"{figure(value)} ({where})"

    highest, lowest = max(cells, key=lambda c: c[0]), min(cells, key=lambda c: c[0])
    if highest[0] == lowest[0]:
        return f"Every{what or ' value'} is {figure(highest[0])}."
    return f"Highest{what}: {place(highest)}; lowest{what}: {place(lowest)}."


def _trend(chart: LineChart | AreaChart) -> str:
    """Return the first and last known value of each series, and the direction."""
    parts = []
    for series in chart.series:
        known = [value for value in series.values if value is not None]
        if not known:
            continue
        first, last = known[0], known[-1]
        verb = "rises" if last > first else "falls" if last < first else "ends where it began, at"
        course = (
            f"{verb} {figure(last)}"
            if last == first
            else (f"{verb} from {figure(first)} to {figure(last)}")
        )
        parts.append(f"{one_line(series.name)} {course}")
    return "; ".join(parts) + "."


_SUMMARIES: dict[type[Chart], Callable[[Any], str]] = {
    PieChart: _pie,
    BarChart: _extent,
    StackedBarChart: _extent,
    LineChart: lambda chart: f"{_extent(chart)} {_trend(chart)}",
    AreaChart: lambda chart: f"{_extent(chart)} {_trend(chart)}",
    ScatterChart: _scatter,
    HistogramChart: _histogram,
    HeatMapChart: _heat_map,
    BoxPlotChart: _boxes,
    CombinedChart: _combined,
}
