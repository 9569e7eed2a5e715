"""Line charts and area charts."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.artifacts.chart import AreaChart, LineChart
from artificer.artifacts.iso_date import milliseconds
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    category_axis,
    frame,
    known,
    labels_below,
    reference_layers,
    rows_of,
    scale,
    series_encoding,
    series_names,
    value_axis,
)
from artificer.render.charts.measure import width
from artificer.render.charts.style import DASHES, SHAPES, Canvas, ChartSpec
from artificer.render.text import one_line

_FORMS = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d"}
"""How dates are written, by the length of the longest label: in digits, as in every language."""

_HOURS, _HOURS_OF_DAYS = "%H:%M", "%H:%M\n%m-%d"
_GAP = 12
"""Least distance between two dates at the axis, in pixels."""

_THIN_FROM, _THIN_TO = 6, 2.5
"""With more labels than this, some are left out where they are wider than their columns, but not
more than so many times: an order is read from those that are left.
"""


def lines(chart: LineChart | AreaChart, canvas: Canvas) -> ChartSpec:
    """Return a line with points for each series; an area chart tints the area below it.

    A line is broken where a value is missing. A line chart may omit zero when it would flatten the
    data; an area chart may not.
    """
    names = series_names(chart.series, canvas)
    filled = isinstance(chart, AreaChart)
    title = chart.value_title or ("" if len(names) > 1 else chart.series[0].name)
    values = [value for s in chart.series for value in known(s.values)]
    values += [r.value for r in chart.references]
    y = value_axis(
        values,
        title=axis_title(title, chart.unit, canvas),
        from_zero=filled or min(values) < max(values) / 2,
    )
    keys, x = _x_axis(chart, canvas)
    position: ChartSpec = {"x": x, "y": y}
    colour = series_encoding(names, canvas)
    shape = scale("series", names, SHAPES) | {"legend": colour["color"].get("legend")}
    dash = scale("series", names, DASHES) | {"legend": None}
    line: ChartSpec = {
        "mark": {"type": "line", "strokeWidth": 2.25, "strokeJoin": "round", "aria": False},
        "encoding": {**position, **colour, "strokeDash": dash},
    }
    points: ChartSpec = {
        "mark": {"type": "point", "filled": True, "size": 44, "opacity": 1},
        "encoding": {**position, **colour, "shape": shape, **TIP},
    }
    layers = [
        line,
        points,
        *reference_layers(chart.references, y, canvas, chart.unit, upright=True),
    ]
    if filled:
        area = {
            "mark": {"type": "area", "fillOpacity": 0.16, "aria": False},
            "encoding": {**position, "y": {**y, "stack": None}, **colour},
        }
        layers.insert(0, area)
    rows = rows_of(chart.series, names, (keys, chart.labels), canvas, chart.unit)
    return {**frame(rows, canvas, canvas.height), "layer": layers}


def _x_axis(chart: LineChart | AreaChart, canvas: Canvas) -> tuple[Sequence[object], ChartSpec]:
    """Return the keys of the labels, and their axis: categories, or dates spaced by time."""
    times = [milliseconds(label) for label in chart.labels] if chart.time else [None]
    if None in times:
        labels = labels_below(chart.labels, canvas)
        axis = category_axis(labels, canvas, upright=True, title=chart.label_title)
        widest = max(map(width, labels)) / canvas.column(len(labels))
        plain = labels == [one_line(label) for label in chart.labels]
        if (
            plain
            and len(labels) > _THIN_FROM
            and "labelAngle" in axis["axis"]
            and widest <= _THIN_TO
        ):
            axis["axis"] |= {"labelAngle": 0, "labelAlign": "center", "labelOverlap": "greedy"}
        return labels, axis
    known_times = [t for t in times if t is not None]
    return times, _time_axis(known_times, chart.labels, chart.label_title, canvas)


def _time_axis(times: list[int], labels: Sequence[str], title: str, canvas: Canvas) -> ChartSpec:
    """Return an axis of dates in UTC, spaced by time. It names as many of them as there is room.

    Hours of one day stand alone, and the title says the day; others have theirs below them.
    """
    form = _FORMS.get(max(map(len, labels)), _HOURS_OF_DAYS)
    if form == _HOURS_OF_DAYS and len({label[:10] for label in labels}) == 1:
        form, day = _HOURS, labels[0][:10]
        title = f"{title} ({day})" if title else day
    written = form.replace("%Y", "0000").replace("%H", "00").replace("%M", "00")
    room = width(written.replace("%m", "00").replace("%d", "00")) + _GAP
    axis: ChartSpec = {
        "title": axis_title(title, "", canvas),
        "format": form,
        "values": _apart(times, room, canvas),
        "grid": False,
    }
    return {
        "field": "label",
        "type": "temporal",
        "axis": axis,
        "scale": {"type": "utc", "padding": 8},
    }


def _apart(times: list[int], room: float, canvas: Canvas) -> list[int]:
    """Return those dates whose words do not touch, the first and the last among them."""
    pixel = max(1, times[-1] - times[0]) / canvas.inner
    kept = times[:1]
    for time in times[1:]:
        if time - kept[-1] >= room * pixel and times[-1] - time >= room * pixel:
            kept.append(time)
    return [*kept, times[-1]] if len(times) > 1 else kept
