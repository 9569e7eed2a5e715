"""The tools of charts, and the problems that their schemas cannot express."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from artificer.artifacts.chart import (
    MAX_CHARTS,
    AreaChart,
    BarChart,
    Chart,
    LineChart,
    PieChart,
    ScatterChart,
    StackedBarChart,
)
from artificer.artifacts.fields import blanks, items, number
from artificer.artifacts.more_charts import (
    MORE_MODELS,
    BoxPlotChart,
    CombinedChart,
    HeatMapChart,
    HistogramChart,
    box_plot_problems,
    category_problems,
    combined_problems,
    heat_map_problems,
    histogram_problems,
    more_tools,
)
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.tool import flat_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, JsonValue, Problem

_CITE = " Cite it in the answer as {{artifact:chart:ID}}, with exactly this id."

MODELS: dict[str, type[Chart]] = {
    "create_pie_chart": PieChart,
    "create_bar_chart": BarChart,
    "create_line_chart": LineChart,
    "create_area_chart": AreaChart,
    "create_scatter_chart": ScatterChart,
    "create_stacked_bar_chart": StackedBarChart,
    **MORE_MODELS,
}


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tools of all charts."""
    return (
        flat_tool(
            "create_pie_chart",
            "Draw how a whole divides into parts: shares, composition, survey answers." + _CITE,
            PieChart,
        ),
        flat_tool(
            "create_bar_chart",
            "Draw bars that compare magnitudes across categories." + _CITE,
            BarChart,
        ),
        flat_tool(
            "create_line_chart",
            "Draw how values develop along an ordered axis, such as time."
            " Not for shares of a whole." + _CITE,
            LineChart,
        ),
        flat_tool(
            "create_area_chart",
            "Draw a development along an ordered axis with the area below filled, to stress volume."
            + _CITE,
            AreaChart,
        ),
        flat_tool(
            "create_scatter_chart",
            "Draw points by two measures, to show how they relate." + _CITE,
            ScatterChart,
        ),
        flat_tool(
            "create_stacked_bar_chart",
            "Draw bars made of parts that add up, one bar for each category." + _CITE,
            StackedBarChart,
        ),
        *more_tools(),
    )


def problems(tool: str, payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a chart that its schema cannot express."""
    yield from _PROBLEMS[tool](payload)


def _pie_problems(payload: JsonObject) -> Iterator[Problem]:
    yield from blanks(payload, "segments", "label")
    segments = items(payload, "segments")
    values = [number(s.get("value")) for s in segments if isinstance(s, dict)]
    numbers = [value for value in values if value is not None]
    if not numbers or len(numbers) < len(segments):
        return
    if not any(numbers):
        yield Problem(pointer="/segments", message="at least one value must be greater than 0")
    elif not math.isfinite(sum(map(float, numbers))):
        yield Problem(pointer="/segments", message="the sum of the values is too large")


def _scatter_problems(payload: JsonObject) -> Iterator[Problem]:
    yield from blanks(payload, "series", "name")
    for index, series in enumerate(items(payload, "series")):
        if isinstance(series, dict):
            yield from blanks(series, "points", "label", f"/series/{index}")


def _stacked_problems(payload: JsonObject) -> Iterator[Problem]:
    yield from category_problems(payload)
    yield from _stack_problems([items(series, "values") for series in items(payload, "series")])


def _stack_problems(all_values: list[list[JsonValue]]) -> Iterator[Problem]:
    for column in range(max(map(len, all_values), default=0)):
        stack = [values[column] for values in all_values if column < len(values)]
        total = sum(float(v) for v in stack if isinstance(v, (int, float)))
        if not math.isfinite(total):
            yield Problem(
                pointer="/series", message=f"the values at position {column} add up to too much"
            )


_PROBLEMS: dict[str, Callable[[JsonObject], Iterator[Problem]]] = {
    "create_pie_chart": _pie_problems,
    "create_bar_chart": category_problems,
    "create_line_chart": category_problems,
    "create_area_chart": category_problems,
    "create_scatter_chart": _scatter_problems,
    "create_stacked_bar_chart": _stacked_problems,
    "create_histogram_chart": histogram_problems,
    "create_heat_map_chart": heat_map_problems,
    "create_box_plot_chart": box_plot_problems,
    "create_combined_chart": combined_problems,
}


def _points(chart: ScatterChart) -> str:
    points = sum(len(series.points) for series in chart.series)
    return f"{len(chart.series)} series, {count(points, 'point')}"


def _series(series: int, labels: int) -> str:
    return f"{series} series, {count(labels, 'label')}"


_SIZES: dict[type[Chart], Callable[[Any], str]] = {
    PieChart: lambda c: count(len(c.segments), "segment"),
    ScatterChart: _points,
    HistogramChart: lambda c: count(len(c.values), "value"),
    HeatMapChart: lambda c: f"{count(len(c.rows), 'row')}, {count(len(c.columns), 'column')}",
    BoxPlotChart: lambda c: count(len(c.groups), "group"),
    CombinedChart: lambda c: _series(len(c.bars) + len(c.lines), len(c.labels)),
}
"""How much data a chart has, in words for the model."""


def _size(artifact: Chart) -> str:
    if size := _SIZES.get(type(artifact)):
        return size(artifact)
    category: Any = artifact
    return _series(len(category.series), len(category.labels))


KIND: PayloadKind[Chart] = PayloadKind(
    tools=tools,
    limit=MAX_CHARTS,
    problems=lambda tool, payload, _: problems(tool, payload),
    load=lambda tool, payload: MODELS[tool].from_json(payload),
    size=_size,
)
