"""Heat maps."""

from __future__ import annotations

from artificer.artifacts.more_charts import HeatMapChart
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

_UPPER = len(HEAT) // 2
"""From this step on, values are written in the colour of the paper."""


def heat_map(chart: HeatMapChart, canvas: Canvas) -> ChartSpec:
    """Return a cell for each value, coloured by its size, with the value in it if there is room."""
    across = labels_below(chart.columns, canvas)
    down = labels_beside([row.label for row in chart.rows], canvas)
    values = known([value for row in chart.rows for value in row.values])
    value_axis(values, title=None)  # refuses what is too large to draw
    steps = Steps(min(values), max(values))
    rows: list[ChartSpec] = []
    for row, key in zip(chart.rows, down, strict=True):
        for column, written, value in zip(across, chart.columns, row.values, strict=True):
            step = steps.of(value) if value is not None else 0
            shown = number(value)
            rows.append(
                {
                    "label": column,
                    "row": key,
                    "low": shown if step < _UPPER else "",
                    "high": shown if step >= _UPPER else "",
                    "colour": PAPER if value is None else HEAT[step],
                    "tip": tip(f"{one_line(row.label)}, {one_line(written)}", value, chart.unit),
                }
            )
    height = max(27, step_beside(down, 0)) * len(down)
    room = (canvas.inner - min(canvas.beside, max(map(width, down)))) / len(across) - 6
    layers = [_cells(across, down, chart, canvas)]
    if max((width(number(value)) for value in values), default=0) <= room:
        layers += [_texts(layers[0], "low", INK), _texts(layers[0], "high", PAPER)]
    return {**frame(rows, canvas, height), "layer": layers}


class Steps:
    """Steps of one width from the lowest to the highest value."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def of(self, value: float) -> int:
        """Return the step of a value, as an index of HEAT."""
        if self.low == self.high:
            return 0
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return min(int(share * len(HEAT)), len(HEAT) - 1)


def _cells(across: list[str], down: list[str], chart: HeatMapChart, canvas: Canvas) -> ChartSpec:
    x = category_axis(across, canvas, upright=True, lanes=1, title=chart.column_title)
    y = category_axis(down, canvas, upright=False, lanes=1, title=chart.row_title)
    for axis in (x, y):
        axis["scale"] |= {"paddingInner": 0, "paddingOuter": 0}
    y["field"] = "row"
    x["axis"]["title"] = axis_title(chart.column_title, "", canvas)
    mark = {"type": "rect", "stroke": LINE, "strokeWidth": 1}
    colour = {"field": "colour", "type": "nominal", "scale": None}
    return {"mark": mark, "encoding": {"x": x, "y": y, "color": colour, **TIP}}


def _texts(cells: ChartSpec, field: str, colour: str) -> ChartSpec:
    place = {axis: cells["encoding"][axis] for axis in "xy"}
    mark = {"type": "text", "color": colour, "fontSize": 11, "aria": False}
    return {"mark": mark, "encoding": {**place, "text": {"field": field, "type": "nominal"}}}
