"""Four more shapes of charts: histogram, heat map, box plot, and bars with lines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from artificer.artifacts.chart_fields import (
    MAX_LABELS,
    MAX_SERIES,
    MAX_UNIT,
    AxisTitle,
    Label,
    Labels,
    MaybeNumber,
    References,
    Series,
    SourceNote,
    Unit,
)
from artificer.artifacts.fields import FiniteNumber, Id, Title, blank, blanks, items, number
from artificer.artifacts.iso_date import milliseconds
from artificer.artifacts.tool import flat_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, JsonValue, Meta, Problem, Value

MAX_VALUES = 500
MAX_GROUP_VALUES = 120
MAX_GROUPS = 16
MAX_BINS = 40


class HistogramChart(Value):
    """How often values occur, counted in bins of one width."""

    id: Id
    title: Title = ""
    values: Annotated[
        tuple[FiniteNumber, ...],
        Meta(min_length=1, max_length=MAX_VALUES, description="The values; they are counted here."),
    ]
    bins: Annotated[int, Meta(ge=0, le=MAX_BINS, description="About how many bins; 0 chooses.")] = 0
    value_title: AxisTitle = ""
    unit: Unit = ""
    references: References = ()
    source: SourceNote = ""


class HeatRow(Value):
    """One row: a value for every column."""

    label: Label
    values: Annotated[
        tuple[MaybeNumber, ...],
        Meta(
            min_length=1,
            max_length=MAX_LABELS,
            description="One number for each column; null where it is not known.",
        ),
    ]


class HeatMapChart(Value):
    """A grid in which colour stands for size."""

    id: Id
    title: Title = ""
    columns: Annotated[
        tuple[Label, ...],
        Meta(min_length=1, max_length=MAX_LABELS, description="The columns, in order."),
    ]
    rows: Annotated[
        tuple[HeatRow, ...],
        Meta(min_length=1, max_length=MAX_LABELS, description="The rows, from the top."),
    ]
    column_title: AxisTitle = ""
    row_title: AxisTitle = ""
    unit: Unit = ""
    source: SourceNote = ""


class BoxGroup(Value):
    """The values of one group."""

    label: Label
    values: Annotated[
        tuple[FiniteNumber, ...],
        Meta(min_length=1, max_length=MAX_GROUP_VALUES, description="All values of the group."),
    ]


class BoxPlotChart(Value):
    """How the values of groups are spread: quartiles, whiskers, outliers."""

    id: Id
    title: Title = ""
    groups: Annotated[
        tuple[BoxGroup, ...],
        Meta(min_length=1, max_length=MAX_GROUPS, description="The groups, in order."),
    ]
    label_title: AxisTitle = ""
    value_title: AxisTitle = ""
    unit: Unit = ""
    references: References = ()
    source: SourceNote = ""


Bars = Annotated[
    tuple[Series, ...],
    Meta(min_length=1, max_length=MAX_SERIES // 2, description="The series drawn as bars."),
]
Lines = Annotated[
    tuple[Series, ...],
    Meta(min_length=1, max_length=MAX_SERIES // 2, description="The series drawn as lines."),
]


class CombinedChart(Value):
    """Bars and lines over the same categories."""

    id: Id
    title: Title = ""
    labels: Labels
    bars: Bars
    lines: Lines
    second_axis: Annotated[
        bool, Meta(description="true if the lines have another unit, and an axis of their own.")
    ] = False
    label_title: AxisTitle = ""
    value_title: AxisTitle = ""
    line_title: AxisTitle = ""
    unit: Unit = ""
    line_unit: Annotated[
        str, Meta(max_length=MAX_UNIT, description="Unit of the lines, where it is another one.")
    ] = ""
    references: References = ()
    source: SourceNote = ""

    @property
    def unit_of_lines(self) -> str:
        """The unit of the lines: that of the bars, unless they have one or an axis of their own."""
        return self.line_unit or ("" if self.second_axis else self.unit)


MoreCharts = HistogramChart | HeatMapChart | BoxPlotChart | CombinedChart

_CITE = " Cite it in the answer as {{artifact:chart:ID}}, with exactly this id."

MORE_MODELS: dict[str, type[MoreCharts]] = {
    "create_histogram_chart": HistogramChart,
    "create_heat_map_chart": HeatMapChart,
    "create_box_plot_chart": BoxPlotChart,
    "create_combined_chart": CombinedChart,
}


def more_tools() -> tuple[ToolDefinition, ...]:
    """Return the tools of these charts."""
    return (
        flat_tool(
            "create_histogram_chart",
            "Draw how often values occur: one column for each range of values." + _CITE,
            HistogramChart,
        ),
        flat_tool(
            "create_heat_map_chart",
            "Draw a grid of values as colours, such as hours by weekdays." + _CITE,
            HeatMapChart,
        ),
        flat_tool(
            "create_box_plot_chart",
            "Draw how the values of groups are spread. Quartiles are computed from the values."
            + _CITE,
            BoxPlotChart,
        ),
        flat_tool(
            "create_combined_chart",
            "Draw bars and lines over the same categories, such as sales and margin." + _CITE,
            CombinedChart,
        ),
    )


def category_problems(payload: JsonObject, *members: str) -> Iterator[Problem]:
    """Yield the problems of labels and of the series in ``members`` (by default ``series``)."""
    labels = items(payload, "labels")
    yield from _blank_labels(labels, "labels")
    if payload.get("time") is True:
        yield from _time_problems(labels)
    for member in members or ("series",):
        yield from blanks(payload, member, "name")
        all_values = [items(series, "values") for series in items(payload, member)]
        for index, values in enumerate(all_values):
            yield from _length(values, labels, f"/{member}/{index}/values", "label")
        yield from _unknown(all_values, f"/{member}")


def histogram_problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield nothing: the schema says it all but the range, which must be finite."""
    values = [float(v) for v in map(number, items(payload, "values")) if v is not None]
    if values and not math.isfinite(max(values) - min(values)):
        yield Problem(pointer="/values", message="are too far apart to be counted")


def heat_map_problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a heat map that its schema cannot express."""
    columns = items(payload, "columns")
    yield from _blank_labels(columns, "columns")
    yield from blanks(payload, "rows", "label")
    all_values = [items(row, "values") for row in items(payload, "rows")]
    for index, values in enumerate(all_values):
        yield from _length(values, columns, f"/rows/{index}/values", "column")
    yield from _unknown(all_values, "/rows")


def box_plot_problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a box plot that its schema cannot express."""
    yield from blanks(payload, "groups", "label")


def combined_problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of bars with lines that their schema cannot express."""
    yield from category_problems(payload, "bars", "lines")


def _blank_labels(labels: list[JsonValue], member: str) -> Iterator[Problem]:
    for index, label in enumerate(labels):
        yield from blank(label, f"/{member}/{index}")


def _length(
    values: list[JsonValue], labels: list[JsonValue], pointer: str, what: str
) -> Iterator[Problem]:
    if labels and values and len(values) != len(labels):
        yield Problem(
            pointer=pointer,
            message=f"must have exactly one value for each {what}",
            limit=len(labels),
            actual=len(values),
        )


def _unknown(all_values: list[list[JsonValue]], pointer: str) -> Iterator[Problem]:
    """Yield a problem if every value is null: there would be nothing to draw."""
    values = [value for values in all_values for value in values]
    if values and all(value is None for value in values):
        yield Problem(pointer=pointer, message="must have at least one number that is not null")


def _time_problems(labels: list[JsonValue]) -> Iterator[Problem]:
    before: int | None = None
    for index, label in enumerate(labels):
        if not isinstance(label, str):
            continue
        at = milliseconds(label)
        if at is None:
            message = "must be a date such as 2026, 2026-03, 2026-03-14 or 2026-03-14T09:30"
            yield Problem(pointer=f"/labels/{index}", message=message, actual=label[:80])
        elif before is not None and at <= before:
            message = "must be later than the date before it"
            yield Problem(pointer=f"/labels/{index}", message=message, actual=label[:80])
        before = at if at is not None else before
