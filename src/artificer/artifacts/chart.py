"""Charts: ten shapes of data, one namespace of ids.

The data is typed; the drawing is made from it elsewhere. A chart language such as Vega-Lite is
never accepted from a model. Four more shapes are in ``more_charts.py``.
"""

from __future__ import annotations

from typing import Annotated

from artificer.artifacts.chart_fields import (
    MAX_LABEL,
    MAX_SERIES,
    AnySeries,
    AxisTitle,
    Labels,
    OrientationField,
    References,
    SeriesName,
    SourceNote,
    StackedSeries,
    TimeAxis,
    Unit,
)
from artificer.artifacts.fields import (
    FiniteNumber,
    Id,
    NonNegative,
    Title,
    text_field,
)
from artificer.artifacts.more_charts import (
    BoxPlotChart,
    CombinedChart,
    HeatMapChart,
    HistogramChart,
)
from artificer.values.base import Meta, Value

MAX_CHARTS = 12
MAX_SEGMENTS = 24
MAX_SCATTER_SERIES = 6
MAX_POINTS = 48
"""Limits of scatter charts."""


class Segment(Value):
    """One share of a pie."""

    label: Annotated[str, text_field(MAX_LABEL, "What this share is.")]
    value: Annotated[NonNegative, Meta(description="Its size, 0 or more; any unit.")]


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


class PieChart(Value):
    """Parts of a whole. The values need not sum to anything in particular."""

    id: Id
    title: Title = ""
    segments: Annotated[
        tuple[Segment, ...],
        Meta(min_length=1, max_length=MAX_SEGMENTS, description="The shares of the whole."),
    ]
    unit: Unit = ""
    source: SourceNote = ""


class BarChart(Value):
    """Magnitudes across categories."""

    id: Id
    title: Title = ""
    labels: Labels
    series: AnySeries
    orientation: OrientationField = "vertical"
    label_title: AxisTitle = ""
    value_title: AxisTitle = ""
    unit: Unit = ""
    references: References = ()
    source: SourceNote = ""


class LineChart(Value):
    """A trend over an ordered axis."""

    id: Id
    title: Title = ""
    labels: Labels
    series: AnySeries
    time: TimeAxis = False
    label_title: AxisTitle = ""
    value_title: AxisTitle = ""
    unit: Unit = ""
    references: References = ()
    source: SourceNote = ""


class AreaChart(Value):
    """A trend with the area below it filled."""

    id: Id
    title: Title = ""
    labels: Labels
    series: AnySeries
    time: TimeAxis = False
    label_title: AxisTitle = ""
    value_title: AxisTitle = ""
    unit: Unit = ""
    references: References = ()
    source: SourceNote = ""


class ScatterChart(Value):
    """Points in the plane."""

    id: Id
    title: Title = ""
    series: Annotated[
        tuple[PointSeries, ...],
        Meta(min_length=1, max_length=MAX_SCATTER_SERIES, description="The series of points."),
    ]
    x_title: AxisTitle = ""
    y_title: AxisTitle = ""
    references: References = ()
    source: SourceNote = ""


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
    label_title: AxisTitle = ""
    value_title: AxisTitle = ""
    unit: Unit = ""
    references: References = ()
    source: SourceNote = ""


Chart = (
    PieChart
    | BarChart
    | LineChart
    | AreaChart
    | ScatterChart
    | StackedBarChart
    | HistogramChart
    | HeatMapChart
    | BoxPlotChart
    | CombinedChart
)
