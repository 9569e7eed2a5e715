"""A chart's complete specification, and the drawing made from it."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from artificer.errors import InvariantError, MissingExtraError
from artificer.render.charts.bars import bars
from artificer.render.charts.combined import combined
from artificer.render.charts.distributions import boxes, histogram
from artificer.render.charts.heat_map import heat_map
from artificer.render.charts.lines import lines
from artificer.render.charts.pie import pie
from artificer.render.charts.scatter import scatter
from artificer.render.charts.style import CONFIG, NARROW, WIDE, Canvas, ChartSpec
from artificer.render.charts.summary import summary
from artificer.render.charts.svg import accessible
from artificer.render.charts.words import kind_name
from artificer.render.text import anchor, one_line

_VEGA_LITE = "6.4"
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


def to_svg(chart: Chart, canvas: Canvas = WIDE) -> str:
    """Draw the chart as a standalone SVG with a title and a description; same data, same bytes.

    Raises:
        MissingExtraError: the extra ``charts`` is not installed.
        InvariantError: the data cannot be drawn.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("charts", needed_for="Drawing charts") from error
    spec = vega_lite(chart, canvas)
    try:
        drawn = drawing_of(json.dumps(spec, ensure_ascii=False, sort_keys=True))
    except ValueError as error:
        raise InvariantError(f"Chart {chart.id!r} cannot be drawn: {error}.") from error
    title = one_line(chart.title) or kind_name(chart)
    within = "narrow" if canvas == NARROW else "chart"
    return accessible(drawn, anchor(within, chart.id), title, summary(chart))


@lru_cache(maxsize=_KEPT)
def drawing_of(spec: str) -> str:
    """Return the renderer's drawing. A page that is rendered again draws nothing again."""
    import vl_convert

    return vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])


def vega_lite(chart: Chart, canvas: Canvas = WIDE) -> ChartSpec:
    """Return the chart's Vega-Lite 6 specification, including its data.

    Raises:
        InvariantError: a value is too large to draw.
    """
    body = _DRAWN[type(chart)](chart, canvas)
    return {"$schema": _SCHEMA, "background": None, "config": CONFIG, **body}
