"""A chart in one or two sentences, for readers who do not see the drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from artificer.render.charts.bins import bins_of, box_of
from artificer.render.charts.words import kind_name
from artificer.render.language import Language, language
from artificer.render.text import one_line

_Cell = tuple[float, str, str]
"""A value, its series and its label."""


def summary(chart: Chart, ui: Language | None = None) -> str:
    """Return one or two sentences that describe the drawing, by default in English."""
    ui = ui or language("en")
    sentences = _SUMMARIES[type(chart)](chart, ui)
    return ui.say("sentences").join(filter(None, sentences))


def _opening(chart: Chart, size: str, ui: Language) -> str:
    return ui.say("sum_of", kind_name(chart, ui), size)


def _figures(ui: Language, *values: float) -> list[str]:
    return [ui.numbers.figure(value) for value in values]


def _pie(chart: PieChart, ui: Language) -> Iterator[str]:
    whole = sum(s.value for s in chart.segments)
    largest = max(chart.segments, key=lambda s: s.value)
    least = min(chart.segments, key=lambda s: s.value)
    yield _opening(chart, ui.count("sum_segments", len(chart.segments)), ui)
    if len(chart.segments) == 1:
        yield ui.say("sum_only", one_line(largest.label), *_figures(ui, largest.value))
        return
    ends = ((one_line(s.label), ui.numbers.percent(s.value, whole)) for s in (largest, least))
    yield ui.say("sum_parts", *(word for end in ends for word in end))


def _scatter(chart: ScatterChart, ui: Language) -> Iterator[str]:
    points = [p for s in chart.series for p in s.points]
    xs, ys = [p.x for p in points], [p.y for p in points]
    size = ui.say("sum_in_series", ui.count("sum_points", len(points)), len(chart.series))
    yield _opening(chart, size, ui)
    yield ui.say("sum_plane", *_figures(ui, min(xs), max(xs), min(ys), max(ys)))


def _histogram(chart: HistogramChart, ui: Language) -> Iterator[str]:
    fullest = max(bins_of(chart), key=lambda b: b.count)
    yield _opening(chart, ui.count("sum_values", len(chart.values)), ui)
    ends = (min(chart.values), max(chart.values), fullest.low, fullest.high, fullest.count)
    yield ui.say("sum_spread", *_figures(ui, *ends))


def _heat_map(chart: HeatMapChart, ui: Language) -> Iterator[str]:
    cells = [
        (value, row.label, column)
        for row in chart.rows
        for column, value in zip(chart.columns, row.values, strict=True)
        if value is not None
    ]
    rows = ui.count("sum_rows", len(chart.rows))
    columns = ui.count("sum_columns", len(chart.columns))
    yield _opening(chart, ui.say("sum_and", rows, columns), ui)
    yield _ends(cells, ui, several=True)


def _boxes(chart: BoxPlotChart, ui: Language) -> Iterator[str]:
    cells = [(box_of(group).median, "", group.label) for group in chart.groups]
    yield _opening(chart, ui.count("sum_groups", len(chart.groups)), ui)
    yield _ends(cells, ui, several=False, what="_median")


def _combined(chart: CombinedChart, ui: Language) -> Iterator[str]:
    size = ui.count("sum_categories", len(chart.labels))
    yield _opening(chart, ui.say("sum_mixed", size, len(chart.bars), len(chart.lines)), ui)
    for word, series in (("sum_bars", chart.bars), ("sum_lines", chart.lines)):
        if cells := _cells(series, chart.labels):
            yield ui.say(word, _ends(cells, ui, several=len(series) > 1))


def _cells(series: Sequence[Series], labels: Sequence[str]) -> list[_Cell]:
    return [
        (value, s.name, label)
        for s in series
        for label, value in zip(labels, s.values, strict=True)
        if value is not None
    ]


def _extent(chart: Any, ui: Language) -> Iterator[str]:
    """Yield the number of categories and series, and the highest and lowest value."""
    stacked = isinstance(chart, StackedBarChart)
    several = len(chart.series) > 1 and not stacked
    cells = _cells(chart.series, chart.labels)
    if stacked:
        stacks = zip(*(s.values for s in chart.series), strict=True)
        sums = (sum(v for v in values if v is not None) for values in stacks)
        cells = [(total, "", label) for label, total in zip(chart.labels, sums, strict=True)]
    size = ui.count("sum_categories", len(chart.labels))
    if len(chart.series) > 1:
        size = ui.say("sum_and", size, ui.say("sum_series", len(chart.series)))
    yield _opening(chart, size, ui)
    yield _ends(cells, ui, several=several, what="_total" if stacked else "")
    missing = sum(value is None for s in chart.series for value in s.values)
    yield ui.count("sum_missing", missing) if missing else ""


def _ends(cells: Sequence[_Cell], ui: Language, *, several: bool, what: str = "") -> str:
    """Return the highest and the lowest value, and where they are."""

    def place(cell: _Cell) -> str:
        value, name, label = cell
        where = f"{one_line(name)}, {one_line(label)}" if several else one_line(label)
        return f"{ui.numbers.figure(value)} ({where})"

    highest, lowest = max(cells, key=lambda c: c[0]), min(cells, key=lambda c: c[0])
    if highest[0] == lowest[0]:
        return ui.say(f"sum_every{what}", ui.numbers.figure(highest[0]))
    return ui.say(f"sum_ends{what}", place(highest), place(lowest))


def _course(chart: LineChart | AreaChart, ui: Language) -> Iterator[str]:
    """Yield the extent, and the first and last known value of each series."""
    yield from _extent(chart, ui)
    parts = []
    for series in chart.series:
        known = [value for value in series.values if value is not None]
        if known:
            first, last = known[0], known[-1]
            word = "sum_rises" if last > first else "sum_falls" if last < first else "sum_level"
            parts.append(ui.say(word, one_line(series.name), *_figures(ui, first, last)))
    yield ui.say("courses").join(parts) + ui.say("stop")


_SUMMARIES: dict[type[Chart], Callable[[Any, Language], Iterator[str]]] = {
    PieChart: _pie,
    BarChart: _extent,
    StackedBarChart: _extent,
    LineChart: _course,
    AreaChart: _course,
    ScatterChart: _scatter,
    HistogramChart: _histogram,
    HeatMapChart: _heat_map,
    BoxPlotChart: _boxes,
    CombinedChart: _combined,
}
