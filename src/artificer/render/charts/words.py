"""A chart as a table, for readers who do not see the drawing or want to check it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from artificer.artifacts.more_charts import (
    BoxPlotChart,
    CombinedChart,
    HeatMapChart,
    HistogramChart,
)
from artificer.artifacts.table import Cell
from artificer.render.charts.bins import bins_of, box_of
from artificer.render.text import one_line, percent


@dataclass(frozen=True)
class Grid:
    """A table before it becomes HTML, Markdown or CSV. Each row has as many cells as headings."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_headed: bool = False


KIND_NAMES: dict[type[Chart], str] = {
    PieChart: "Pie chart",
    BarChart: "Bar chart",
    LineChart: "Line chart",
    AreaChart: "Area chart",
    ScatterChart: "Scatter chart",
    StackedBarChart: "Stacked bar chart",
    HistogramChart: "Histogram",
    HeatMapChart: "Heat map",
    BoxPlotChart: "Box plot",
    CombinedChart: "Bar and line chart",
}

CHARTS = tuple(KIND_NAMES)
"""The classes of :data:`Chart`, for isinstance."""


def kind_name(chart: Chart) -> str:
    """Return the kind of the chart, such as "Pie chart"."""
    return KIND_NAMES[type(chart)]


def grid(chart: Chart) -> Grid:
    """Return all of the chart's data, in the order of the payload."""
    columns, rows = _GRIDS.get(type(chart), _categories)(chart)
    return Grid(columns, rows, row_headed=True)


_Table = tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]


def _measured(name: str, unit: str) -> str:
    """Return a heading with the unit of the numbers below it."""
    return f"{name} ({one_line(unit)})" if unit.strip() else name


def _categories(chart: Any) -> _Table:
    names = (
        chart.label_title or "Category",
        *(_measured(s.name, chart.unit) for s in chart.series),
    )
    return names, tuple(zip(chart.labels, *(s.values for s in chart.series), strict=True))


def _pie(chart: PieChart) -> _Table:
    whole = sum(s.value for s in chart.segments)
    shares = ((s.label, s.value, percent(s.value, whole)) for s in chart.segments)
    return ("Segment", _measured("Value", chart.unit), "Share"), tuple(shares)


def _scatter(chart: ScatterChart) -> _Table:
    x, y = chart.x_title or "x", chart.y_title or "y"
    points = [(s.name, p.label, p.x, p.y) for s in chart.series for p in s.points]
    if any(label for _, label, _, _ in points):
        return ("Series", "Point", x, y), tuple(points)
    return ("Series", x, y), tuple((name, px, py) for name, _, px, py in points)


def _histogram(chart: HistogramChart) -> _Table:
    rows = tuple((b.low, b.high, b.count) for b in bins_of(chart))
    return (_measured("From", chart.unit), _measured("To", chart.unit), "Count"), rows


def _heat_map(chart: HeatMapChart) -> _Table:
    corner = chart.row_title or "Row"
    return (corner, *chart.columns), tuple((row.label, *row.values) for row in chart.rows)


def _boxes(chart: BoxPlotChart) -> _Table:
    names = ("Values", "Lowest", "Lower quartile", "Median", "Upper quartile", "Highest")
    rows = []
    for group in chart.groups:
        box, values = box_of(group), group.values
        ends = (min(values), box.q1, box.median, box.q3, max(values))
        rows.append((group.label, len(values), *ends))
    return (chart.label_title or "Group", *names), tuple(rows)


def _combined(chart: CombinedChart) -> _Table:
    series = (*chart.bars, *chart.lines)
    names = (chart.label_title or "Category", *(s.name for s in series))
    return names, tuple(zip(chart.labels, *(s.values for s in series), strict=True))


_GRIDS: dict[type[Chart], Callable[[Any], _Table]] = {
    PieChart: _pie,
    ScatterChart: _scatter,
    HistogramChart: _histogram,
    HeatMapChart: _heat_map,
    BoxPlotChart: _boxes,
    CombinedChart: _combined,
}
