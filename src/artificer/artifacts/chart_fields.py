"""The fields that charts share: labels, series, the words at the axes, and reference lines.

A member that a chart may do without says what the drawing cannot: units, a source, a threshold.
"""

from __future__ import annotations

from typing import Annotated, Literal

from artificer.artifacts.fields import FiniteNumber, text_field
from artificer.artifacts.json_schema import in_schema
from artificer.values.base import Meta, Value

MAX_LABEL = 128
MAX_SERIES_NAME = 64
MAX_LABELS = 32
MAX_SERIES = 8
MAX_AXIS_TITLE = 80
MAX_UNIT = 16
MAX_SOURCE = 200
MAX_REFERENCES = 4

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
MaybeNumber = Annotated[float | None, in_schema({"type": ["number", "null"]})]
MaybeShare = Annotated[float | None, in_schema({"type": ["number", "null"], "minimum": 0})]
_VALUES = "One number for each label; null where it is not known."
_SHARES = "One number for each label, 0 or more; null where it is not known."

AxisTitle = Annotated[str, Meta(max_length=MAX_AXIS_TITLE, description="Words at that axis.")]
Unit = Annotated[str, Meta(max_length=MAX_UNIT, description="Unit of the values: ms, %, €.")]
SourceNote = Annotated[str, Meta(max_length=MAX_SOURCE, description="Where the numbers are from.")]
TimeAxis = Annotated[
    bool, Meta(description="true if the labels are ISO dates, to space them by time.")
]


class Series(Value):
    """One series: a value for every label."""

    name: SeriesName
    values: Annotated[
        tuple[MaybeNumber, ...],
        Meta(min_length=1, max_length=MAX_LABELS, description=_VALUES),
    ]


class StackedSeries(Value):
    """One series of a stack: a non-negative value for every label."""

    name: SeriesName
    values: Annotated[
        tuple[MaybeShare, ...],
        Meta(min_length=1, max_length=MAX_LABELS, description=_SHARES),
    ]


class Reference(Value):
    """A line across the chart, such as a target."""

    value: Annotated[FiniteNumber, Meta(description="Where it is.")]
    label: Annotated[str, Meta(max_length=MAX_SERIES_NAME, description="Words at it.")] = ""


References = Annotated[
    tuple[Reference, ...],
    Meta(max_length=MAX_REFERENCES, description="Lines at values: targets, limits."),
]
AnySeries = Annotated[
    tuple[Series, ...], Meta(min_length=1, max_length=MAX_SERIES, description="The series.")
]
