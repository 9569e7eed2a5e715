"""The look of charts: colour-blind safe colours, shapes, dashes, sizes.

The colours are attributes in the SVG; report.css overrides them by those attributes in dark mode.
"""

from __future__ import annotations

from typing import Any

ChartSpec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#b5558c",
    "#a87900",
    "#3b9ad9",
    "#4b4f58",
    "#7a5195",
)
"""Okabe and Ito's hues, darkened to a contrast of at least 3:1 on white. report.css has a lighter
twin of each for dark mode. Series differ in shape and dashes too, never in hue alone."""

INK, SOFT, PAPER, LINE, STRONG_LINE = "#1b2026", "#5a6470", "#ffffff", "#dfe3e8", "#aeb6c0"
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
)
DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 2), (12, 4), (1, 3), (6, 2, 2, 2, 2, 2))

WIDTH = 720
HEIGHT = 300
"""Size in pixels. A page scales the drawing to its own width."""

_AXIS = {
    "domainColor": STRONG_LINE,
    "gridColor": LINE,
    "labelColor": SOFT,
    "labelFlush": False,
    "labelFontSize": 12,
    "labelLimit": 0,
    "labelPadding": 6,
    "tickColor": STRONG_LINE,
    "ticks": False,
    "titleColor": SOFT,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "titleLimit": 0,
    "titlePadding": 10,
}
CONFIG: ChartSpec = {
    "font": "Liberation Sans",
    "view": {"stroke": None},
    "axis": _AXIS,
    "axisQuantitative": {"domain": False, "tickCount": 6},
    "bar": {"continuousBandSize": 24},
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "labelLimit": 0,
        "offset": 14,
        "orient": "top",
        "symbolOpacity": 1,
        "symbolSize": 90,
        "titleFontSize": 12,
    },
    "text": {"color": INK, "fontSize": 12},
}
