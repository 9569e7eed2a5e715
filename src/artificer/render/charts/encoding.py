"""The parts that specifications share: frames, rows of data, axes, and colour by series.

What a model wrote enters only as a value here: in a row, in a scale's domain, as an axis title.
"""

from __future__ import annotations

from typing import Any

from artificer.artifacts.chart import StackedBarChart
from artificer.render.charts.style import PALETTE, WIDTH, Spec
from artificer.render.charts.words import CategoryChart
from artificer.render.text import figure, one_line


def frame(rows: list[Spec], height: int) -> Spec:
    fit = {"type": "fit-x", "contains": "padding"}
    return {"data": {"values": rows}, "width": WIDTH, "height": height, "autosize": fit}


def rows_of(chart: CategoryChart, names: list[str]) -> list[Spec]:
    labels = unique(list(chart.labels))
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
    if isinstance(chart, StackedBarChart):
        return [sum(column) for column in zip(*(s.values for s in chart.series), strict=True)]
    return [value for s in chart.series for value in s.values]


def series_encoding(names: list[str]) -> Spec:
    """Colour by series, with a legend where there is more than one."""
    if len(names) == 1:
        return {"color": {"value": PALETTE[0]}}
    widest = max(len(name) for name in names)
    columns = max(1, min(len(names), (WIDTH - 60) // (min(widest, 28) * 7 + 34)))
    return {
        "color": scale("series", names, PALETTE)
        | {
            "legend": {
                "title": None,
                "columns": columns,
                "symbolOpacity": 1,
                "symbolStrokeWidth": 0,
            }
        }
    }


def scale(field: str, domain: list[str], ranged: tuple[Any, ...]) -> Spec:
    scale = {"domain": domain, "range": list(ranged[: len(domain)])}
    return {"field": field, "type": "nominal", "scale": scale}


def category_axis(labels: tuple[str, ...], *, upright: bool, line: bool = False) -> Spec:
    """The axis of labels, in the order given; labels that would collide are slanted."""
    axis: Spec = {"title": None, "labelOverlap": False, "grid": False}
    room = (WIDTH - 60) / len(labels)
    longest = max(len(one_line(label)) for label in labels)
    if not upright:
        axis["labelLimit"] = 240
    elif longest * 6.5 > room:
        axis |= {
            "labelAngle": -40,
            "labelAlign": "right",
            "labelBaseline": "top",
            "labelLimit": 130,
        }
    else:
        axis["labelAngle"] = 0
    scale = (
        {"type": "point", "padding": 0.35} if line else {"paddingInner": 0.36, "paddingOuter": 0.18}
    )
    return {"field": "label", "type": "nominal", "sort": None, "axis": axis, "scale": scale}


def value_axis(
    values: list[float], *, field: str = "value", title: str = "", from_zero: bool | None = None
) -> Spec:
    """A linear axis. A line may leave zero out where it would press the data flat."""
    largest = max(abs(v) for v in values)
    axis: Spec = {"title": one_line(title) or None}
    if largest >= 1e15:
        axis["format"] = ".2~e"
    elif largest >= 1e5:
        axis["format"] = "~s"
    scale: Spec = {"nice": True} if from_zero is None else {"nice": True, "zero": from_zero}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def unique(names: list[str]) -> list[str]:
    """The names as keys of a scale: a repeated one gets invisible characters at its end."""
    taken: dict[str, None] = {}
    for name in map(one_line, names):
        while name in taken:
            name += "\u200b"  # until it differs
        taken[name] = None
    return list(taken)
