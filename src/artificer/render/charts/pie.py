"""Pie charts."""

from __future__ import annotations

from artificer.artifacts.chart import PieChart
from artificer.render.charts.style import PALETTE, PAPER, Spec
from artificer.render.text import one_line, percent

_SHADES = (1.0, 0.62, 0.34)
"""A pie may have more segments than there are colours: each further round of them is paler."""


def pie(chart: PieChart) -> Spec:
    """The pie, and beside it each segment's colour, share and label in the pie's order."""
    whole = sum(s.value for s in chart.segments)
    rows = [
        {
            "order": index,
            "value": s.value,
            "label": one_line(s.label),
            "shown": percent(s.value, whole),
            "colour": PALETTE[index % len(PALETTE)],
            "shade": _SHADES[index // len(PALETTE)],
        }
        for index, s in enumerate(chart.segments)
    ]
    paint: Spec = {
        "color": {"field": "colour", "type": "nominal", "scale": None},
        "fillOpacity": {"field": "shade", "type": "quantitative", "scale": None},
    }
    order = {"field": "order", "type": "quantitative"}
    pie = {
        "width": 250,
        "height": 250,
        "mark": {"type": "arc", "outerRadius": 124, "stroke": PAPER, "strokeWidth": 1.5},
        "encoding": {
            "theta": {"field": "value", "type": "quantitative", "stack": True},
            "order": order,
            **paint,
        },
    }
    step = 25 if len(rows) <= 10 else 21
    slots = max(250 / step, len(rows))
    ends = [(len(rows) - 1 - slots) / 2, (len(rows) - 1 + slots) / 2]
    centred = {"domain": ends, "nice": False, "zero": False, "reverse": True}
    y = {"field": "order", "type": "quantitative", "scale": centred, "axis": None}

    def column(x: int, field: str, mark: Spec) -> Spec:
        text = {"field": field, "type": "nominal"}
        return {
            "mark": {"type": "text", **mark},
            "encoding": {"y": y, "x": {"value": x}, "text": text},
        }

    swatches = {
        "mark": {"type": "point", "shape": "square", "filled": True, "size": 150, "opacity": 1},
        "encoding": {"y": y, "x": {"value": 8}, **paint},
    }
    key = {
        "width": 400,
        "height": step * slots,
        "layer": [
            swatches,
            column(68, "shown", {"align": "right", "fontWeight": 600, "fontSize": 13}),
            column(80, "label", {"align": "left", "limit": 320, "fontSize": 13}),
        ],
    }
    return {"data": {"values": rows}, "hconcat": [pie, key], "spacing": 36, "align": "none"}
