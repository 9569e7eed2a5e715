"""The parts that specifications share: frames, rows of data, axes, and colour by series.

Model text enters only as a value here: in a row, in a scale's domain, as an axis title.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from artificer.artifacts.chart import PointSeries
from artificer.artifacts.chart_fields import Reference, Series, StackedSeries
from artificer.errors import InvariantError
from artificer.render.charts.measure import apart, fitted, width, wraps
from artificer.render.charts.style import PALETTE, SOFT, STRONG_LINE, Canvas, ChartSpec
from artificer.render.text import one_line

_LARGEST = 1e300
"""The largest value that is drawn. Sums and differences of such values are finite."""

_BAR = 96
"""Widest bar, in pixels."""

_LINES = 3
"""Most lines of a label below a column, and next to a bar."""

_LINE = 14
"""Height of a line of a label, in pixels."""


def frame(rows: list[ChartSpec], canvas: Canvas, height: int) -> ChartSpec:
    """Return data and size. The whole drawing, axes included, is as wide as the canvas."""
    fit = {"type": "fit-x", "contains": "padding"}
    return {
        "data": {"values": rows},
        "width": canvas.width,
        "height": height,
        "autosize": fit,
    }


def series_names(
    series: Sequence[Series | StackedSeries | PointSeries], canvas: Canvas
) -> list[str]:
    """Return the names of the series for the legend, made unique."""
    room = min(300, canvas.width - 60)
    return unique(apart([one_line(s.name) for s in series], room))


def fits_below(labels: Sequence[str], canvas: Canvas) -> bool:
    """Return whether each label fits whole below its column, in a few lines."""
    room = canvas.column(len(labels)) - 6
    return all(wraps(one_line(label), room, _LINES) for label in labels)


def labels_below(labels: Sequence[str], canvas: Canvas) -> list[str]:
    """Return the labels for an axis below: in a few lines, or in one that will be slanted."""
    plain = [one_line(label) for label in labels]
    if fits_below(labels, canvas):
        return unique(apart(plain, canvas.column(len(labels)) - 6, _LINES))
    return unique(apart(plain, canvas.slanted))


def labels_beside(labels: Sequence[str], canvas: Canvas) -> list[str]:
    """Return the labels for an axis at the side, in a few lines."""
    return unique(apart([one_line(label) for label in labels], canvas.beside, _LINES))


def step_beside(labels: Sequence[str], lanes: int) -> int:
    """Return the height that a horizontal bar, or a group of bars, has with its label."""
    lines = max(label.count("\n") + 1 for label in labels)
    return max(14 + 16 * lanes, 8 + _LINE * lines)


def number(value: float | None, canvas: Canvas, unit: str = "") -> str:
    """Return a value as a reader sees it, with a true minus sign; "" for a missing one."""
    if value is None:
        return ""
    gap = "" if not unit or unit[0] in "%°′″" else "\u202f"
    return canvas.numbers.signed(value) + gap + one_line(unit)


def rows_of(
    series: Sequence[Series | StackedSeries],
    names: list[str],
    labels: Labelled,
    canvas: Canvas,
    unit: str,
) -> list[ChartSpec]:
    """Return a row of data for each value. ``tip`` is what a reader sees at its mark."""
    several = len(series) > 1
    return [
        {
            "label": key,
            "series": name,
            "series_order": order,
            "value": value,
            "shown": number(value, canvas),
            "tip": tip(_what(s.name, label) if several else label, value, canvas, unit),
        }
        for order, (name, s) in enumerate(zip(names, series, strict=True))
        for key, label, value in zip(labels[0], labels[1], s.values, strict=True)
    ]


def _what(name: str, label: str) -> str:
    return f"{one_line(name)}, {one_line(label)}"


Labelled = tuple[Sequence[Any], Sequence[str]]
"""The keys of the labels' axis, and the labels as they are written in the payload."""


def tip(what: str, value: float | None, canvas: Canvas, unit: str = "") -> str:
    """Return the words at a mark: what it is, and its exact value."""
    return f"{one_line(what)}: {number(value, canvas, unit)}"


TIP: ChartSpec = {"description": {"field": "tip", "type": "nominal"}}
"""The channel that carries the words at a mark, which :mod:`svg` makes a title of."""


def known(values: Sequence[float | None]) -> list[float]:
    """Return the values that are not missing."""
    return [value for value in values if value is not None]


def series_encoding(names: list[str], canvas: Canvas) -> ChartSpec:
    """Return colour by series, with a legend if there is more than one series."""
    if len(names) == 1:
        return {"color": {"value": PALETTE[0]}}
    columns = int((canvas.width - 40) // (max(map(width, names)) + 34))
    legend = {"title": None, "columns": max(1, min(len(names), columns)), "symbolStrokeWidth": 0}
    return {"color": {**scale("series", names, PALETTE), "legend": legend}}


def scale(field: str, domain: list[str], ranged: tuple[Any, ...]) -> ChartSpec:
    """Return a channel that maps each name of ``domain`` to its own entry of ``ranged``."""
    mapping = {"domain": domain, "range": list(ranged[: len(domain)])}
    return {"field": field, "type": "nominal", "scale": mapping}


_ABOVE: ChartSpec = {
    "titleAlign": "left",
    "titleAnchor": "start",
    "titleAngle": 0,
    "titleX": 0,
    "titleY": -10,
}
"""The title of an axis beside the drawing stands above it, where it is read like other words."""


def axis_title(title: str, unit: str, canvas: Canvas) -> str | None:
    """Return the words at an axis, with the unit if they do not have it already."""
    title, unit = one_line(title), one_line(unit)
    words = f"{title} ({unit})" if title and unit and unit not in title else title or unit
    return fitted(words, canvas.width - 90) or None


def category_axis(
    labels: list[str], canvas: Canvas, *, upright: bool, lanes: int = 0, title: str = ""
) -> ChartSpec:
    """Return the axis of labels, in the order of the data; labels too long for it are slanted.

    Each label has a band for ``lanes`` bars, or a point without lanes.
    """
    axis: ChartSpec = {
        "title": axis_title(title, "", canvas),
        "labelOverlap": False,
        "grid": False,
        "domain": False,
    }
    column = canvas.column(len(labels))
    if upright and max(map(width, labels)) > column - 6:
        axis |= {"labelAngle": -40, "labelAlign": "right", "labelBaseline": "top"}
        axis["labelOverlap"] = "greedy" if column < _LINE else False
    elif upright:
        axis |= {"labelAngle": 0, "labelLineHeight": _LINE}
    else:
        axis |= {"labelLineHeight": _LINE, **_ABOVE}
    points = {"type": "point", "padding": 0.35}
    mapping = _bands(column, lanes, upright=upright) if lanes else points
    return {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "axis": axis,
        "scale": {**mapping, "domain": labels},
    }


def _bands(column: float, lanes: int, *, upright: bool) -> ChartSpec:
    """Return bands in which bars fill two thirds of the axis, up to the widest bar."""
    gap = max(0.36, 1 - lanes * _BAR / column) if upright else 0.36
    return {"paddingInner": gap, "paddingOuter": gap / 2}


def value_axis(
    values: Sequence[float], *, field: str = "value", title: str | None, from_zero: bool = True
) -> ChartSpec:
    """Return a linear axis, with a title if one is passed.

    Raises:
        InvariantError: a value is so large that drawing it would overflow.
    """
    largest = max((abs(v) for v in values), default=0)
    if largest > _LARGEST:
        raise InvariantError(f"A value of {largest:.0e} is too large to draw.")
    axis: ChartSpec = {"title": title, **_ABOVE}
    if largest >= 1e15:
        axis["format"] = ".2~e"
    elif largest >= 1e5:
        axis["format"] = "~s"
    mapping: ChartSpec = {"nice": True, "zero": from_zero}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": mapping}


def reference_layers(
    references: Sequence[Reference],
    axis: ChartSpec,
    canvas: Canvas,
    unit: str = "",
    *,
    upright: bool,
) -> list[ChartSpec]:
    """Return a dashed line with its words for each reference value."""
    if not references:
        return []
    return (
        _level(references, axis, canvas, unit)
        if upright
        else _standing(references, axis, canvas, unit)
    )


_RULE = {"type": "rule", "color": SOFT, "strokeDash": [5, 4], "strokeWidth": 1.25}


def _level(
    references: Sequence[Reference], axis: ChartSpec, canvas: Canvas, unit: str
) -> list[ChartSpec]:
    rows = [{"at": r.value, "words": _reference_words(r, canvas, unit)} for r in references]
    position = {"y": {**axis, "field": "at"}}
    mark = {"type": "text", "color": SOFT, "align": "right", "baseline": "bottom", "dy": -3}
    words = {**position, "x": {"value": "width"}, "text": {"field": "words", "type": "nominal"}}
    data = {"values": rows}
    return [
        {"data": data, "mark": _RULE, "encoding": position},
        {"data": data, "mark": mark, "encoding": words},
    ]


def _standing(
    references: Sequence[Reference], axis: ChartSpec, canvas: Canvas, unit: str
) -> list[ChartSpec]:
    """Return upright lines whose words stand above the drawing, each in its own line."""
    layers: list[ChartSpec] = []
    mark = {"type": "text", "color": SOFT, "align": "left", "baseline": "middle", "dx": 4}
    for number, reference in enumerate(sorted(references, key=lambda r: -r.value)):
        top = -8 - _LINE * number
        data = {
            "values": [{"at": reference.value, "words": _reference_words(reference, canvas, unit)}]
        }
        x = {"x": {**axis, "field": "at"}}
        rule = {**x, "y": {"value": top - 5}, "y2": {"value": "height"}}
        words = {**x, "y": {"value": top}, "text": {"field": "words", "type": "nominal"}}
        layers += [
            {"data": data, "mark": _RULE, "encoding": rule},
            {"data": data, "mark": mark, "encoding": words},
        ]
    return layers


def zero_line(*, upright: bool) -> list[ChartSpec]:
    """Return the line from which bars start, at zero, even where some point down."""
    rule = {"type": "rule", "color": STRONG_LINE}
    zero = {"field": "zero", "type": "quantitative"}
    across = "y" if upright else "x"
    return [{"data": {"values": [{"zero": 0}]}, "mark": rule, "encoding": {across: zero}}]


def _reference_words(reference: Reference, canvas: Canvas, unit: str) -> str:
    label = one_line(reference.label)
    return fitted(f"{label} {number(reference.value, canvas, unit)}".strip(), 260)


def unique(names: list[str]) -> list[str]:
    """Return the names as unique scale keys: a repeated one gets invisible characters appended."""
    taken: dict[str, None] = {}
    for name in names:
        key = name
        while key in taken:
            key += "\u200b"
        taken[key] = None
    return list(taken)
