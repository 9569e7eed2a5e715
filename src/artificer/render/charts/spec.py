"""A chart's complete specification, and the drawing made from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from artificer.artifacts.chart import (
    AreaChart,
    BarChart,
    Chart,
    LineChart,
    PieChart,
    ScatterChart,
    StackedBarChart,
)
from artificer.artifacts.more_charts import (
    BoxPlotChart,
    CombinedChart,
    HeatMapChart,
    HistogramChart,
)
from artificer.render.charts.bars import bars
from artificer.render.charts.combined import combined
from artificer.render.charts.distributions import boxes, histogram
from artificer.render.charts.drawn import Drawing, draw
from artificer.render.charts.heat_map import heat_map
from artificer.render.charts.lines import lines
from artificer.render.charts.pie import pie
from artificer.render.charts.scatter import scatter
from artificer.render.charts.style import CONFIG, NARROW, WIDE, Canvas, ChartSpec
from artificer.render.charts.summary import summary
from artificer.render.charts.svg import accessible
from artificer.render.charts.words import kind_name
from artificer.render.language import Language, language
from artificer.render.text import anchor, one_line

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

_KEPT = 256
"""Drawings that a process keeps. A drawing has tens of kilobytes."""

_DRAWN: dict[type[Chart], Callable[[Any, Canvas], ChartSpec]] = {
    PieChart: pie,
    BarChart: bars,
    StackedBarChart: bars,
    LineChart: lines,
    AreaChart: lines,
    ScatterChart: scatter,
    HistogramChart: histogram,
    HeatMapChart: heat_map,
    BoxPlotChart: boxes,
    CombinedChart: combined,
}


def to_svg(chart: Chart, canvas: Canvas = WIDE, ui: Language | None = None) -> str:
    """Draw the chart as a standalone SVG with a title and a description; same data, same bytes.

    Its numbers and its description are in the language ``ui``, by default English.

    Raises:
        InvariantError: the data cannot be drawn.
    """
    ui = ui or language("en")
    spec = vega_lite(chart, replace(canvas, ui=ui))
    drawn = drawing_of(json.dumps(spec, ensure_ascii=False))
    title = one_line(chart.title) or kind_name(chart, ui)
    within = "narrow" if canvas.width == NARROW.width else "chart"
    return accessible(drawn, anchor(within, chart.id), title, summary(chart, ui))


@lru_cache(maxsize=_KEPT)
def drawing_of(spec: str) -> Drawing:
    """Return the drawing of a specification. A page rendered again draws nothing again."""
    return draw(json.loads(spec))


def vega_lite(chart: Chart, canvas: Canvas = WIDE) -> ChartSpec:
    """Return the chart's Vega-Lite 6 specification, including its data.

    Raises:
        InvariantError: a value is too large to draw.
    """
    body = _DRAWN[type(chart)](chart, canvas)
    form = canvas.numbers
    signs = {"decimal": form.point, "thousands": form.group, "grouping": [3], "currency": ["", ""]}
    config = {**CONFIG, "locale": {"number": signs}}
    return {"$schema": _SCHEMA, "background": None, "config": config, **body}
