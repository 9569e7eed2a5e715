"""Pie charts."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.artifacts.chart import PieChart
from artificer.render.charts.measure import fitted, width
from artificer.render.charts.style import PALETTE, PAPER, ChartSpec
from artificer.render.text import one_line, percent

_SHADES = (1.0, 0.62, 0.34)
"""A pie may have more segments than there are colours; each further round is paler."""

_SIZE = 216
"""Diameter of the disc, in pixels."""

_KEY_FONT = 13
"""Font size of the key, in pixels."""

_LABEL_AT = 69
"""Left edge of the key's labels, in pixels."""


def pie(chart: PieChart) -> ChartSpec:
    """Return the pie and a key with each segment's colour, share and label, in the pie's order."""
    whole = sum(s.value for s in chart.segments)
    rows = [
        {
            "order": index,
            "value": s.value,
            "label": fitted(one_line(s.label), 340),
            "shown": percent(s.value, whole),
            "colour": PALETTE[index % len(PALETTE)],
            "shade": _SHADES[index // len(PALETTE)],
        }
        for index, s in enumerate(chart.segments)
    ]
    both = {
        "hconcat": [_disc(), _key([str(row["label"]) for row in rows])],
        "spacing": 28,
        "align": "none",
    }
    return {"data": {"values": rows}, **both}


_PAINT: ChartSpec = {
    "color": {"field": "colour", "type": "nominal", "scale": None},
    "fillOpacity": {"field": "shade", "type": "quantitative", "scale": None},
}


def _disc() -> ChartSpec:
    return {
        "width": _SIZE,
        "height": _SIZE,
        "mark": {"type": "arc", "outerRadius": _SIZE / 2 - 1, "stroke": PAPER, "strokeWidth": 1.5},
        "encoding": {
            "theta": {"field": "value", "type": "quantitative", "stack": True},
            "order": {"field": "order", "type": "quantitative"},
            **_PAINT,
        },
    }


def _key(labels: Sequence[str]) -> ChartSpec:
    """Return one line for each segment, centred next to the disc: swatch, share, label.

    It is as wide as its longest label, so that a small pie fits a phone without scrolling.
    """
    count = len(labels)
    step = 25 if count <= 10 else 21
    slots = max(_SIZE / step, count)
    ends = [(count - 1 - slots) / 2, (count - 1 + slots) / 2]
    lines = {"domain": ends, "nice": False, "zero": False, "reverse": True}
    y = {"field": "order", "type": "quantitative", "scale": lines, "axis": None}

    def text(x: int, field: str, mark: ChartSpec) -> ChartSpec:
        encoding = {"y": y, "x": {"value": x}, "text": {"field": field, "type": "nominal"}}
        return {"mark": {"type": "text", "fontSize": _KEY_FONT, **mark}, "encoding": encoding}

    swatch = {"type": "point", "shape": "square", "filled": True, "size": 150, "opacity": 1}
    return {
        "width": _LABEL_AT + round(max(map(width, labels)) * _KEY_FONT / 12),
        "height": step * slots,
        "layer": [
            {"mark": swatch, "encoding": {"y": y, "x": {"value": 8}, **_PAINT}},
            text(58, "shown", {"align": "right", "fontWeight": 600}),
            text(_LABEL_AT, "label", {"align": "left"}),
        ],
    }
