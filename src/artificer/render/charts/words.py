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
from artificer.render.language import Language, language
from artificer.render.text import one_line


@dataclass(frozen=True)
class Grid:
    """A table before it becomes HTML, Markdown or CSV. Each row has as many cells as headings."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_headed: bool = False


KIND_NAMES: dict[type[Chart], str] = {
    PieChart: "kind_pie",
    BarChart: "kind_bar",
    LineChart: "kind_line",
    AreaChart: "kind_area",
    ScatterChart: "kind_scatter",
    StackedBarChart: "kind_stacked",
    HistogramChart: "kind_histogram",
    HeatMapChart: "kind_heat",
    BoxPlotChart: "kind_box",
    CombinedChart: "kind_combined",
}

CHARTS = tuple(KIND_NAMES)
"""The classes of :data:`Chart`, for isinstance."""


def kind_name(chart: Chart, ui: Language) -> str:
    """Return the kind of the chart, such as "Pie chart"."""
    return ui.say(KIND_NAMES[type(chart)])


def grid(chart: Chart, ui: Language | None = None) -> Grid:
    """Return all of the chart's data, in the order of the payload; headings by default English."""
    columns, rows = _GRIDS.get(type(chart), _categories)(chart, ui or language("en"))
    return Grid(columns, rows, row_headed=True)


_Table = tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]


def _measured(name: str, unit: str) -> str:
    """Return a heading with the unit of the numbers below it."""
    return f"{name} ({one_line(unit)})" if unit.strip() else name


def _categories(chart: Any, ui: Language) -> _Table:
    names = (_measured(s.name, chart.unit) for s in chart.series)
    heads = (chart.label_title or ui.say("head_category"), *names)
    return heads, tuple(zip(chart.labels, *(s.values for s in chart.series), strict=True))


def _pie(chart: PieChart, ui: Language) -> _Table:
    whole = sum(s.value for s in chart.segments)
    shares = ((s.label, s.value, ui.numbers.percent(s.value, whole)) for s in chart.segments)
    value = _measured(ui.say("head_value"), chart.unit)
    return (ui.say("head_segment"), value, ui.say("head_share")), tuple(shares)


def _scatter(chart: ScatterChart, ui: Language) -> _Table:
    x, y, series = chart.x_title or "x", chart.y_title or "y", ui.say("head_series")
    points = [(s.name, p.label, p.x, p.y) for s in chart.series for p in s.points]
    if any(label for _, label, _, _ in points):
        return (series, ui.say("head_point"), x, y), tuple(points)
    return (series, x, y), tuple((name, px, py) for name, _, px, py in points)


def _histogram(chart: HistogramChart, ui: Language) -> _Table:
    rows = tuple((b.low, b.high, b.count) for b in bins_of(chart))
    ends = (_measured(ui.say(word), chart.unit) for word in ("head_from", "head_to"))
    return (*ends, ui.say("head_count")), rows


def _heat_map(chart: HeatMapChart, ui: Language) -> _Table:
    corner = chart.row_title or ui.say("head_row")
    columns = (_measured(column, chart.unit) for column in chart.columns)
    return (corner, *columns), tuple((row.label, *row.values) for row in chart.rows)


def _boxes(chart: BoxPlotChart, ui: Language) -> _Table:
    parts = ("lowest", "lower", "median", "upper", "highest")
    names = (_measured(ui.say(f"head_{part}"), chart.unit) for part in parts)
    rows = []
    for group in chart.groups:
        box, values = box_of(group), group.values
        ends = (min(values), box.q1, box.median, box.q3, max(values))
        rows.append((group.label, len(values), *ends))
    heads = (chart.label_title or ui.say("head_group"), ui.say("head_values"), *names)
    return heads, tuple(rows)


def _combined(chart: CombinedChart, ui: Language) -> _Table:
    bars = (_measured(s.name, chart.unit) for s in chart.bars)
    lines = (_measured(s.name, chart.unit_of_lines) for s in chart.lines)
    series = (*chart.bars, *chart.lines)
    heads = (chart.label_title or ui.say("head_category"), *bars, *lines)
    return heads, tuple(zip(chart.labels, *(s.values for s in series), strict=True))


_GRIDS: dict[type[Chart], Callable[[Any, Language], _Table]] = {
    PieChart: _pie,
    ScatterChart: _scatter,
    HistogramChart: _histogram,
    HeatMapChart: _heat_map,
    BoxPlotChart: _boxes,
    CombinedChart: _combined,
}
