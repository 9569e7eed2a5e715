"""The parts that specifications share: frames, rows of data, axes, and colour by series.

Model text enters only as a value here: in a row, in a scale's domain, as an axis title.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from artificer.artifacts.chart import PointSeries, Series, StackedBarChart, StackedSeries
from artificer.errors import InvariantError
from artificer.render.charts.measure import fitted, width
from artificer.render.charts.style import PALETTE, WIDTH, ChartSpec
from artificer.render.charts.words import CategoryChart
from artificer.render.text import figure, one_line

_SLANTED = 130
"""Longest slanted label, in pixels."""

_LARGEST = 1e300
"""The largest value that is drawn. Sums and differences of such values are finite."""

_BAR = 96
"""Widest bar, in pixels."""


def frame(rows: list[ChartSpec], height: int) -> ChartSpec:
    """Return data and size. The whole drawing, axes included, is WIDTH wide."""
    fit = {"type": "fit-x", "contains": "padding"}
    return {"data": {"values": rows}, "width": WIDTH, "height": height, "autosize": fit}


def series_names(series: Sequence[Series | StackedSeries | PointSeries]) -> list[str]:
    """Return the names of the series for the legend, made unique."""
    return _unique([fitted(one_line(s.name), 200) for s in series])


def category_labels(labels: Sequence[str], *, upright: bool) -> list[str]:
    """Return the labels for the axis, made unique."""
    room = max(_SLANTED, _column(len(labels))) if upright else 240
    return _unique([fitted(one_line(label), room) for label in labels])


def rows_of(chart: CategoryChart, names: list[str], labels: list[str]) -> list[ChartSpec]:
    """Return a row of data for each value."""
    columns = [s.values for s in chart.series]
    return [
        {
            "label": label,
            "series": name,
            "series_order": order,
            "value": value,
            "shown": figure(value),
        }
        for order, (name, values) in enumerate(zip(names, columns, strict=True))
        for label, value in zip(labels, values, strict=True)
    ]


def values_of(chart: CategoryChart) -> list[float]:
    """Return the values that the axis must cover: for stacks, their sums."""
    if isinstance(chart, StackedBarChart):
        return [sum(column) for column in zip(*(s.values for s in chart.series), strict=True)]
    return [value for s in chart.series for value in s.values]


def series_encoding(names: list[str]) -> ChartSpec:
    """Return colour by series, with a legend if there is more than one series."""
    if len(names) == 1:
        return {"color": {"value": PALETTE[0]}}
    columns = int((WIDTH - 60) // (max(map(width, names)) + 34))
    legend = {"title": None, "columns": max(1, min(len(names), columns)), "symbolStrokeWidth": 0}
    return {"color": {**scale("series", names, PALETTE), "legend": legend}}


def scale(field: str, domain: list[str], ranged: tuple[Any, ...]) -> ChartSpec:
    """Return a channel that maps each name of ``domain`` to its own entry of ``ranged``."""
    mapping = {"domain": domain, "range": list(ranged[: len(domain)])}
    return {"field": field, "type": "nominal", "scale": mapping}


def category_axis(
    labels: list[str], *, upright: bool, lanes: int = 0, signed: bool = False
) -> ChartSpec:
    """Return the axis of labels, in the order of the data; colliding labels are slanted.

    Each label has a band for ``lanes`` bars, or a point without lanes. With ``signed`` values
    the axis has no line, because a reader would take it for zero.
    """
    axis: ChartSpec = {"title": None, "labelOverlap": False, "grid": False, "domain": not signed}
    if upright and max(map(width, labels)) > _column(len(labels)):
        axis |= {"labelAngle": -40, "labelAlign": "right", "labelBaseline": "top"}
    elif upright:
        axis["labelAngle"] = 0
    points = {"type": "point", "padding": 0.35}
    return {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "axis": axis,
        "scale": _bands(len(labels), lanes, upright=upright) if lanes else points,
    }


def _bands(count: int, lanes: int, *, upright: bool) -> ChartSpec:
    """Return bands in which bars fill two thirds of the axis, up to the widest bar."""
    column = _column(count)
    gap = max(0.36, 1 - lanes * _BAR / column) if upright else 0.36
    return {"paddingInner": gap, "paddingOuter": gap / 2}


def value_axis(
    values: list[float], *, field: str = "value", title: str = "", from_zero: bool = True
) -> ChartSpec:
    """Return a linear axis, with a title if one is passed.

    Raises:
        InvariantError: a value is so large that drawing it would overflow.
    """
    largest = max(abs(v) for v in values)
    if largest > _LARGEST:
        raise InvariantError(f"A value of {largest:.0e} is too large to draw.")
    axis: ChartSpec = {"title": fitted(one_line(title), 260) or None}
    if largest >= 1e15:
        axis["format"] = ".2~e"
    elif largest >= 1e5:
        axis["format"] = "~s"
    mapping: ChartSpec = {"nice": True, "zero": from_zero}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": mapping}


def _column(count: int) -> float:
    """Return the width of each of ``count`` columns."""
    return (WIDTH - 60) / count


def _unique(names: list[str]) -> list[str]:
    """Return the names as unique scale keys: a repeated one gets invisible characters appended."""
    taken: dict[str, None] = {}
    for name in names:
        key = name
        while key in taken:
            key += "\u200b"
        taken[key] = None
    return list(taken)
