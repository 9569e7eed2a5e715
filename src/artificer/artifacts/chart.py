"""Charts: six shapes of data, one namespace of ids.

The data is typed; the drawing is made from it elsewhere. A chart language such as Vega-Lite is
never accepted from a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from artificer.artifacts.fields import (
    FiniteNumber,
    Id,
    NonNegative,
    Title,
    blank,
    blanks,
    items,
    number,
    text_field,
)
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.tool import flat_tool
from artificer.values.base import JsonObject, JsonValue, Meta, Problem, Value

MAX_CHARTS = 12
MAX_LABEL = 128
MAX_SERIES_NAME = 64
MAX_SEGMENTS = 24
MAX_LABELS = 32
MAX_SERIES = 8
MAX_SCATTER_SERIES = 6
MAX_POINTS = 48
"""Limits of scatter charts."""

Orientation = Literal["vertical", "horizontal"]
Label = Annotated[str, text_field(MAX_LABEL, "Name of this category.")]
SeriesName = Annotated[str, text_field(MAX_SERIES_NAME, "Name of the series in the legend.")]
Labels = Annotated[
    tuple[Label, ...],
    Meta(min_length=1, max_length=MAX_LABELS, description="The categories, in order."),
]
OrientationField = Annotated[
    Orientation,
    Meta(description="vertical for columns; horizontal for bars, better for long labels."),
]


class Segment(Value):
    """One share of a pie."""

    label: Annotated[str, text_field(MAX_LABEL, "What this share is.")]
    value: Annotated[NonNegative, Meta(description="Its size, 0 or more; any unit.")]


class Series(Value):
    """One series: a value for every label."""

    name: SeriesName
    values: Annotated[
        tuple[FiniteNumber, ...],
        Meta(min_length=1, max_length=MAX_LABELS, description="One number for each label."),
    ]


class StackedSeries(Value):
    """One series of a stack: a non-negative value for every label."""

    name: SeriesName
    values: Annotated[
        tuple[NonNegative, ...],
        Meta(
            min_length=1,
            max_length=MAX_LABELS,
            description="One number for each label, 0 or more.",
        ),
    ]


class Point(Value):
    """One point in the plane."""

    x: Annotated[FiniteNumber, Meta(description="Horizontal position.")]
    y: Annotated[FiniteNumber, Meta(description="Vertical position.")]
    label: Annotated[str, text_field(MAX_LABEL, "What this point is.")] = ""


class PointSeries(Value):
    """One series of points."""

    name: SeriesName
    points: Annotated[
        tuple[Point, ...],
        Meta(min_length=1, max_length=MAX_POINTS, description="The points."),
    ]


AnySeries = Annotated[
    tuple[Series, ...], Meta(min_length=1, max_length=MAX_SERIES, description="The series.")
]


class PieChart(Value):
    """Parts of a whole. The values need not sum to anything in particular."""

    id: Id
    title: Title = ""
    segments: Annotated[
        tuple[Segment, ...],
        Meta(min_length=1, max_length=MAX_SEGMENTS, description="The shares of the whole."),
    ]


class BarChart(Value):
    """Magnitudes across categories."""

    id: Id
    title: Title = ""
    labels: Labels
    series: AnySeries
    orientation: OrientationField = "vertical"


class LineChart(Value):
    """A trend over an ordered axis."""

    id: Id
    title: Title = ""
    labels: Labels
    series: AnySeries


class AreaChart(Value):
    """A trend with the area below it filled."""

    id: Id
    title: Title = ""
    labels: Labels
    series: AnySeries


class ScatterChart(Value):
    """Points in the plane."""

    id: Id
    title: Title = ""
    series: Annotated[
        tuple[PointSeries, ...],
        Meta(min_length=1, max_length=MAX_SCATTER_SERIES, description="The series of points."),
    ]


class StackedBarChart(Value):
    """What each category is composed of: values that add up."""

    id: Id
    title: Title = ""
    labels: Labels
    series: Annotated[
        tuple[StackedSeries, ...],
        Meta(min_length=1, max_length=MAX_SERIES, description="The series, stacked in order."),
    ]
    orientation: OrientationField = "vertical"


Chart = PieChart | BarChart | LineChart | AreaChart | ScatterChart | StackedBarChart

_CITE = " Cite it in the answer as {{artifact:chart:ID}}, with exactly this id."

CHART_TOOLS = (
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
        "Draw how values develop along an ordered axis, such as time. Not for shares of a whole."
        + _CITE,
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
)

MODELS: dict[str, type[Chart]] = {
    "create_pie_chart": PieChart,
    "create_bar_chart": BarChart,
    "create_line_chart": LineChart,
    "create_area_chart": AreaChart,
    "create_scatter_chart": ScatterChart,
    "create_stacked_bar_chart": StackedBarChart,
}


def problems(tool: str, payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a chart that its schema cannot express."""
    if tool == "create_pie_chart":
        yield from _pie_problems(payload)
    elif tool == "create_scatter_chart":
        yield from _scatter_problems(payload)
    else:
        yield from _category_problems(payload, stacked=tool == "create_stacked_bar_chart")


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


def _category_problems(payload: JsonObject, *, stacked: bool) -> Iterator[Problem]:
    labels = items(payload, "labels")
    for index, label in enumerate(labels):
        yield from blank(label, f"/labels/{index}")
    yield from blanks(payload, "series", "name")
    all_values = [items(series, "values") for series in items(payload, "series")]
    for index, values in enumerate(all_values):
        if labels and values and len(values) != len(labels):
            yield Problem(
                pointer=f"/series/{index}/values",
                message="must have exactly one value for each label",
                limit=len(labels),
                actual=len(values),
            )
    if stacked:
        yield from _stack_problems(all_values)


def _stack_problems(all_values: list[list[JsonValue]]) -> Iterator[Problem]:
    for column in range(max(map(len, all_values), default=0)):
        stack = [values[column] for values in all_values if column < len(values)]
        total = sum(float(v) for v in stack if isinstance(v, int | float))
        if not math.isfinite(total):
            yield Problem(
                pointer="/series", message=f"the values at position {column} add up to too much"
            )


def _size(artifact: Chart) -> str:
    if isinstance(artifact, PieChart):
        return count(len(artifact.segments), "segment")
    if isinstance(artifact, ScatterChart):
        points = sum(len(series.points) for series in artifact.series)
        return f"{len(artifact.series)} series, {count(points, 'point')}"
    return f"{len(artifact.series)} series, {count(len(artifact.labels), 'label')}"


KIND: PayloadKind[Chart] = PayloadKind(
    tools=CHART_TOOLS,
    limit=MAX_CHARTS,
    problems=lambda tool, payload, _: problems(tool, payload),
    load=lambda tool, payload: MODELS[tool].from_json(payload),
    size=_size,
)
