"""Histograms and box plots."""

from __future__ import annotations

from artificer.artifacts.more_charts import BoxPlotChart, HistogramChart
from artificer.render.charts.bins import Bin, bins_of, box_of
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    category_axis,
    fits_below,
    frame,
    labels_below,
    labels_beside,
    number,
    reference_layers,
    step_beside,
    value_axis,
)
from artificer.render.charts.style import PALETTE, PAPER, Canvas, ChartSpec
from artificer.render.text import one_line


def histogram(chart: HistogramChart, canvas: Canvas) -> ChartSpec:
    """Return a column for each bin, without gaps, over an axis of values."""
    bins = bins_of(chart)
    half = 0.5 if len(bins) == 1 and bins[0].low == bins[0].high else 0.0
    rows: list[ChartSpec] = [
        {
            "low": b.low - half,
            "high": b.high + half,
            "value": b.count,
            "zero": 0,
            "tip": f"{bin_words(b, canvas, chart.unit)}: {number(b.count, canvas)}",
        }
        for b in bins
    ]
    title = axis_title(chart.value_title, chart.unit, canvas)
    lines = [r.value for r in chart.references]
    ends = (
        [min(rows[0]["low"], *lines), max(rows[-1]["high"], *lines)]
        if lines
        else [
            rows[0]["low"],
            rows[-1]["high"],
        ]
    )
    x = value_axis(ends, field="low", title=title, from_zero=False)
    x["scale"] = {"domain": ends, "nice": False, "zero": False}
    x["axis"] |= {"grid": False, "labelOverlap": "greedy"}
    y = value_axis([b.count for b in bins], title=canvas.language.say("head_count"))
    y["axis"] |= {"tickMinStep": 1}
    mark = {"type": "rect", "color": PALETTE[0], "stroke": PAPER, "strokeWidth": 1}
    encoding = {"x": x, "x2": {"field": "high"}, "y": y, "y2": {"field": "zero"}, **TIP}
    layers: list[ChartSpec] = [{"mark": mark, "encoding": encoding}]
    layers += reference_layers(chart.references, x, canvas, chart.unit, upright=False)
    return {**frame(rows, canvas, canvas.height), "layer": layers}


def bin_words(b: Bin, canvas: Canvas, unit: str = "") -> str:
    """Return the range of a bin, such as "10–20 ms"."""
    high = number(b.high, canvas, unit)
    return f"{number(b.low, canvas)}–{high}" if b.low != b.high else high


def boxes(chart: BoxPlotChart, canvas: Canvas) -> ChartSpec:
    """Return a box for each group: quartiles, whiskers, and points beyond them."""
    written = [group.label for group in chart.groups]
    upright = fits_below(written, canvas) and canvas.column(len(written)) >= 24
    labels = (labels_below if upright else labels_beside)(written, canvas)
    found = [box_of(group) for group in chart.groups]
    rows: list[ChartSpec] = []
    points: list[ChartSpec] = []
    for label, group, box in zip(labels, chart.groups, found, strict=True):
        parts = (box.low, box.q1, box.median, box.q3, box.high)
        low, q1, median, q3, high = (number(part, canvas, chart.unit) for part in parts)
        tip = f"{one_line(group.label)}: {median} ({low}, {q1}–{q3}, {high})"
        names = ("low", "q1", "median", "q3", "high")
        rows.append({"label": label, "tip": tip, **dict(zip(names, parts, strict=True))})
        points += [
            {
                "label": label,
                "value": v,
                "tip": f"{one_line(group.label)}: {number(v, canvas, chart.unit)}",
            }
            for v in box.outliers
        ]
    values = [value for group in chart.groups for value in group.values]
    values += [r.value for r in chart.references]
    title = axis_title(chart.value_title, chart.unit, canvas)
    axis = value_axis(values, title=title, from_zero=min(values) * 2 < max(values))
    along, across = ("x", "y") if upright else ("y", "x")
    place = category_axis(labels, canvas, upright=upright, lanes=1, title=chart.label_title)
    layers = _box_layers(along, across, place, axis)
    if points:
        mark = {"type": "point", "color": PALETTE[0], "size": 34, "filled": False}
        encoding = {along: place, across: axis, **TIP}
        layers.append({"data": {"values": points}, "mark": mark, "encoding": encoding})
    layers += reference_layers(chart.references, axis, canvas, chart.unit, upright=upright)
    height = canvas.height if upright else max(120, step_beside(labels, 2) * len(labels))
    return {**frame(rows, canvas, height), "layer": layers}


def _box_layers(along: str, across: str, place: ChartSpec, axis: ChartSpec) -> list[ChartSpec]:
    def between(one: str, other: str) -> ChartSpec:
        ends = {across: {**axis, "field": one}, across + "2": {"field": other}}
        return {along: place, **ends}

    whisker = {"type": "rule", "color": PALETTE[0], "strokeWidth": 1.5, "aria": False}
    box = {"type": "bar", "color": PALETTE[0], "fillOpacity": 0.3, "stroke": PALETTE[0], "size": 28}
    median = {"type": "tick", "color": PALETTE[0], "thickness": 3, "size": 28, "aria": False}
    return [
        {"mark": whisker, "encoding": between("low", "q1")},
        {"mark": whisker, "encoding": between("q3", "high")},
        {"mark": box, "encoding": {**between("q1", "q3"), **TIP}},
        {"mark": median, "encoding": {along: place, across: {**axis, "field": "median"}}},
    ]
