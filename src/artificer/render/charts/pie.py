"""Pie charts."""

from __future__ import annotations

from artificer.artifacts.chart import PieChart
from artificer.render.charts.encoding import TIP, tip
from artificer.render.charts.measure import apart, width
from artificer.render.charts.style import PALETTE, PAPER, SOFT, Canvas, ChartSpec
from artificer.render.text import one_line

_SHADES = (1.0, 0.62, 0.34)
"""A pie may have more segments than there are colours; each further round is paler."""

_SIZE = 216
"""Diameter of the disc, in pixels."""

_KEY_FONT = 13
"""Font size of the key, in pixels."""

_LABEL_AT = 70
"""Left edge of the key's labels, in pixels."""

_GAP = 28
"""Between the disc and the key."""

_NUMBERED_FROM = 9
"""With this many segments colours repeat, so that segments and their lines in the key have numbers.
"""

_LEAST_NUMBERED = 0.012
"""Segments with less than this share have no room for their number at the disc."""


def pie(chart: PieChart, canvas: Canvas) -> ChartSpec:
    """Return the pie and a key with each segment's colour, share and label, in the pie's order.

    On a narrow canvas the key is below the disc.
    """
    whole = sum(s.value for s in chart.segments)
    beside = canvas.width > 2 * _SIZE
    numbered = len(chart.segments) >= _NUMBERED_FROM
    room = (canvas.width - (_SIZE + _GAP if beside else 0) - _LABEL_AT) * 12 / _KEY_FONT
    written = [one_line(s.label) for s in chart.segments]
    labels = apart(
        [f"{n}. {label}" for n, label in enumerate(written, 1)] if numbered else written, room, 5
    )
    heights = [9 + 16 * (label.count("\n") + 1) for label in labels]
    rows: list[ChartSpec] = [
        {
            "order": index,
            "value": s.value,
            "label": labels[index],
            "shown": canvas.numbers.percent(s.value, whole),
            "number": str(index + 1) if numbered and s.value >= whole * _LEAST_NUMBERED else "",
            "at": sum(heights[:index]) + 12,
            "colour": PALETTE[index % len(PALETTE)],
            "shade": _SHADES[index // len(PALETTE)],
            "tip": f"{tip(written[index], s.value, canvas, chart.unit)}"
            f" ({canvas.numbers.percent(s.value, whole)})",
        }
        for index, s in enumerate(chart.segments)
    ]
    key = _key(labels, max(sum(heights), _SIZE if beside else 0), sum(heights))
    both = {
        "hconcat" if beside else "vconcat": [_disc(numbered), key],
        "spacing": _GAP if beside else 16,
        "align": "none",
    }
    return {"data": {"values": rows}, **both}


_PAINT: ChartSpec = {
    "color": {"field": "colour", "type": "nominal", "scale": None},
    "fillOpacity": {"field": "shade", "type": "quantitative", "scale": None},
}


def _disc(numbered: bool) -> ChartSpec:
    radius = _SIZE / 2 - (15 if numbered else 1)
    around = {
        "theta": {"field": "value", "type": "quantitative", "stack": True},
        "order": {"field": "order", "type": "quantitative"},
    }
    segments: ChartSpec = {
        "mark": {"type": "arc", "outerRadius": radius, "stroke": PAPER, "strokeWidth": 1.5},
        "encoding": {**around, **_PAINT, **TIP},
    }
    numbers: ChartSpec = {
        "mark": {"type": "text", "radius": radius + 9, "fontSize": 11, "color": SOFT},
        "encoding": {**around, "text": {"field": "number", "type": "nominal"}},
    }
    layers = [segments, numbers] if numbered else [segments]
    return {"width": _SIZE, "height": _SIZE, "layer": layers}


def _key(labels: list[str], height: int, used: int) -> ChartSpec:
    """Return one entry for each segment, centred next to the disc: swatch, share, label.

    It is as wide as its longest label, so that a small pie fits a phone without scrolling.
    """
    above = (height - used) / 2
    pixels = {"domain": [-above, height - above], "nice": False, "zero": False, "reverse": True}
    y = {"field": "at", "type": "quantitative", "scale": pixels, "axis": None}

    def text(x: int, field: str, mark: ChartSpec) -> ChartSpec:
        encoding = {"y": y, "x": {"value": x}, "text": {"field": field, "type": "nominal"}}
        style = {"type": "text", "fontSize": _KEY_FONT, "lineHeight": 16, "dy": 4.5}
        return {"mark": {**style, "baseline": "alphabetic", **mark}, "encoding": encoding}

    swatch = {"type": "point", "shape": "square", "filled": True, "size": 150, "opacity": 1}
    return {
        "width": _LABEL_AT + round(max(map(width, labels)) * _KEY_FONT / 12),
        "height": height,
        "layer": [
            {"mark": {**swatch, "aria": False}, "encoding": {"y": y, "x": {"value": 8}, **_PAINT}},
            text(58, "shown", {"align": "right", "fontWeight": 600}),
            text(_LABEL_AT, "label", {"align": "left"}),
        ],
    }
