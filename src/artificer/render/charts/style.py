"""The look of charts: colour-blind safe colours, shapes, dashes, sizes.

The colours are attributes in the SVG; report.css overrides them by those attributes in dark mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from artificer.render.language import Language, language
from artificer.render.numbers import NumberForm

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

HEAT = ("#e3eef8", "#b9d7ee", "#86bbe0", "#2a76b3", "#1a5c96", "#0b3d6b")
"""The steps of a heat map, from low to high. Values are ink on the lower half and paper on the
upper one, in both themes, where report.css turns the steps around."""


@dataclass(frozen=True)
class Canvas:
    """The size of a drawing in pixels, and the room for labels in it.

    ``beside`` is the room for a label next to a horizontal bar, ``slanted`` for a slanted one.
    ``ui`` is the language of the words and numbers that are not the model's; None is English.
    """

    width: int
    height: int
    beside: int
    slanted: int
    ui: Language | None = None

    @property
    def language(self) -> Language:
        """The language of the drawing."""
        return self.ui or language("en")

    @property
    def numbers(self) -> NumberForm:
        """How numbers are written."""
        return self.language.numbers

    @property
    def inner(self) -> int:
        """The width without the axis of values."""
        return self.width - 60

    def column(self, count: int) -> float:
        """Return the width of each of ``count`` columns."""
        return self.inner / count


WIDE = Canvas(720, 300, 230, 130)
"""A page shows this drawing, scaled to its column."""

NARROW = Canvas(350, 260, 112, 96)
"""The same chart for a phone, which shows it at its own size."""

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
    "lineBreak": "\n",
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
