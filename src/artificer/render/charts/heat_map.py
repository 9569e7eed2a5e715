"""Heat maps."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from artificer.artifacts.more_charts import HeatMapChart
from artificer.render.charts.bins import round_steps
from artificer.render.charts.encoding import (
    TIP,
    axis_title,
    category_axis,
    frame,
    known,
    labels_below,
    labels_beside,
    number,
    step_beside,
    tip,
    value_axis,
)
from artificer.render.charts.measure import width
from artificer.render.charts.style import HEAT, INK, LINE, PAPER, Canvas, ChartSpec
from artificer.render.text import one_line

_UPPER = HEAT[len(HEAT) // 2 :]
"""On these colours, values are written in the colour of the paper."""


def heat_map(chart: HeatMapChart, canvas: Canvas) -> ChartSpec:
    """Return a cell for each value, coloured by its size, with the value in it if there is room."""
    across = labels_below(chart.columns, canvas)
    down = labels_beside([row.label for row in chart.rows], canvas)
    values = known([value for row in chart.rows for value in row.values])
    value_axis(values, title=None)  # refuses what is too large to draw
    steps = steps_of(values)
    rows: list[ChartSpec] = []
    for row, key in zip(chart.rows, down, strict=True):
        for column, written, value in zip(across, chart.columns, row.values, strict=True):
            dark = value is not None and steps.colour(value) in _UPPER
            shown = number(value, canvas)
            rows.append(
                {
                    "label": column,
                    "row": key,
                    "value": value,
                    "low": "" if dark else shown,
                    "high": shown if dark else "",
                    "tip": tip(
                        f"{one_line(row.label)}, {one_line(written)}", value, canvas, chart.unit
                    ),
                }
            )
    height = max(27, step_beside(down, 0)) * len(down)
    room = (canvas.inner - min(canvas.beside, max(map(width, down)))) / len(across) - 6
    layers = [_cells(across, down, chart, steps, canvas)]
    if max((width(number(value, canvas)) for value in values), default=0) <= room:
        layers += [_texts(layers[0], "low", INK), _texts(layers[0], "high", PAPER)]
    return {**frame(rows, canvas, height), "layer": layers}


class Steps(Struct, frozen=True):
    """The colours of a heat map, and the round values at which each begins and ends."""

    edges: tuple[float, ...]
    colours: tuple[str, ...]

    def colour(self, value: float) -> str:
        """Return the colour of a value. One that is an edge has the colour above it."""
        return self.colours[sum(value >= edge for edge in self.edges[1:-1])]


def steps_of(values: list[float]) -> Steps:
    """Return as many steps as there are colours, or fewer, of one round width."""
    low, high = Decimal(repr(float(min(values)))), Decimal(repr(float(max(values))))
    if low == high:
        return Steps((float(low), float(high)), HEAT[:1])
    edges = round_steps(low, high, len(HEAT))
    count = len(edges) - 1
    spread = [round(n * (len(HEAT) - 1) / max(1, count - 1)) for n in range(count)]
    return Steps(edges, tuple(HEAT[n] for n in spread))


def _cells(
    across: list[str], down: list[str], chart: HeatMapChart, steps: Steps, canvas: Canvas
) -> ChartSpec:
    x = category_axis(across, canvas, upright=True, lanes=1, title=chart.column_title)
    y = category_axis(down, canvas, upright=False, lanes=1, title=chart.row_title)
    for axis in (x, y):
        axis["scale"] |= {"paddingInner": 0, "paddingOuter": 0}
    y["field"] = "row"
    x["axis"]["title"] = axis_title(chart.column_title, "", canvas)
    mark = {"type": "rect", "stroke": LINE, "strokeWidth": 1}
    colour = {
        "condition": {"test": "datum.value === null", "value": PAPER},
        "field": "value",
        "type": "quantitative",
        "scale": {
            "type": "threshold",
            "domain": list(steps.edges[1:-1]),
            "range": list(steps.colours),
        },
        "legend": {"title": one_line(chart.unit) or None, "values": list(steps.edges)},
    }
    return {"mark": mark, "encoding": {"x": x, "y": y, "color": colour, **TIP}}


def _texts(cells: ChartSpec, field: str, colour: str) -> ChartSpec:
    place = {axis: cells["encoding"][axis] for axis in "xy"}
    mark = {"type": "text", "color": colour, "fontSize": 11, "aria": False}
    return {"mark": mark, "encoding": {**place, "text": {"field": field, "type": "nominal"}}}
