"""A chart in words and as a table, for readers who do not see the drawing or want to check it."""

from __future__ import annotations

from dataclasses import dataclass

from artificer.artifacts.chart import (
    AreaChart,
    BarChart,
    Chart,
    LineChart,
    PieChart,
    ScatterChart,
    StackedBarChart,
)
from artificer.artifacts.table import Cell
from artificer.render.text import figure, one_line, percent

CHARTS = (PieChart, BarChart, LineChart, AreaChart, ScatterChart, StackedBarChart)
"""The classes of :data:`Chart`, for isinstance."""

CategoryChart = BarChart | LineChart | AreaChart | StackedBarChart
"""The charts that hold a value for each label and series."""


@dataclass(frozen=True)
class Grid:
    """A table before it becomes HTML, Markdown or CSV. Each row has as many cells as headings."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_headed: bool = False


def kind_name(chart: Chart) -> str:
    """Return the kind of the chart, such as "Pie chart"."""
    match chart:
        case PieChart():
            return "Pie chart"
        case BarChart():
            return "Bar chart"
        case LineChart():
            return "Line chart"
        case AreaChart():
            return "Area chart"
        case ScatterChart():
            return "Scatter chart"
        case StackedBarChart():
            return "Stacked bar chart"


def grid(chart: Chart) -> Grid:
    """Return all of the chart's data, in the order of the payload."""
    match chart:
        case PieChart():
            whole = sum(s.value for s in chart.segments)
            shares = ((s.label, s.value, percent(s.value, whole)) for s in chart.segments)
            return Grid(("Segment", "Value", "Share"), tuple(shares), row_headed=True)
        case ScatterChart():
            points = [(s.name, p.label, p.x, p.y) for s in chart.series for p in s.points]
            if any(label for _, label, _, _ in points):
                return Grid(("Series", "Point", "x", "y"), tuple(points), row_headed=True)
            rows = tuple((name, x, y) for name, _, x, y in points)
            return Grid(("Series", "x", "y"), rows, row_headed=True)
        case _:
            names = ("Category", *(s.name for s in chart.series))
            by_label = zip(chart.labels, *(s.values for s in chart.series), strict=True)
            return Grid(names, tuple(by_label), row_headed=True)


def summary(chart: Chart) -> str:
    """Return one or two sentences that describe the drawing."""
    match chart:
        case PieChart():
            return _pie_summary(chart)
        case ScatterChart():
            return _scatter_summary(chart)
        case LineChart() | AreaChart():
            return f"{_extent(chart)} {_trend(chart)}"
        case _:
            return _extent(chart)


def _pie_summary(chart: PieChart) -> str:
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


def _scatter_summary(chart: ScatterChart) -> str:
    points = [p for s in chart.series for p in s.points]
    xs, ys = [p.x for p in points], [p.y for p in points]
    return (
        f"Scatter chart of {len(points)} point{'s' * (len(points) > 1)} in {len(chart.series)}"
        f" series; x from {figure(min(xs))} to {figure(max(xs))},"
        f" y from {figure(min(ys))} to {figure(max(ys))}."
    )


def _extent(chart: CategoryChart) -> str:
    """Return the number of categories and series, and the highest and lowest value."""
    several = len(chart.series) > 1 and not isinstance(chart, StackedBarChart)
    cells = [
        (value, s.name, label)
        for s in chart.series
        for label, value in zip(chart.labels, s.values, strict=True)
    ]
    if isinstance(chart, StackedBarChart):
        stacks = zip(*(s.values for s in chart.series), strict=True)
        cells = [(sum(v), "", label) for label, v in zip(chart.labels, stacks, strict=True)]

    def place(cell: tuple[float, str, str]) -> str:
        value, name, label = cell
        where = f"{one_line(name)}, {one_line(label)}" if several else one_line(label)
        return f"{figure(value)} ({where})"

    count = len(chart.labels)
    opening = f"{kind_name(chart)} of {count} categor{'y' if count == 1 else 'ies'}"
    opening += f" and {len(chart.series)} series." if len(chart.series) > 1 else "."
    highest, lowest = max(cells, key=lambda c: c[0]), min(cells, key=lambda c: c[0])
    what = " total" if isinstance(chart, StackedBarChart) else ""
    if highest[0] == lowest[0]:
        return f"{opening} Every{what or ' value'} is {figure(highest[0])}."
    return f"{opening} Highest{what}: {place(highest)}; lowest{what}: {place(lowest)}."


def _trend(chart: LineChart | AreaChart) -> str:
    """Return the first and last value of each series, and the direction."""
    parts = []
    for series in chart.series:
        first, last = series.values[0], series.values[-1]
        verb = "rises" if last > first else "falls" if last < first else "ends where it began, at"
        course = (
            f"{verb} {figure(last)}"
            if last == first
            else (f"{verb} from {figure(first)} to {figure(last)}")
        )
        parts.append(f"{one_line(series.name)} {course}")
    return "; ".join(parts) + "."
