"""A chart's complete specification, and the drawing made from it."""

from __future__ import annotations

from artificer.artifacts.chart import (
    AreaChart,
    BarChart,
    Chart,
    LineChart,
    PieChart,
    ScatterChart,
    StackedBarChart,
)
from artificer.errors import InvariantError, MissingExtraError
from artificer.render.charts.bars import bars
from artificer.render.charts.lines import lines
from artificer.render.charts.pie import pie
from artificer.render.charts.scatter import scatter
from artificer.render.charts.style import CONFIG, ChartSpec
from artificer.render.charts.svg import accessible
from artificer.render.charts.words import kind_name, summary
from artificer.render.text import anchor, one_line

_VEGA_LITE = "6.4"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def to_svg(chart: Chart) -> str:
    """Draw the chart as a standalone SVG with a title and a description; same data, same bytes.

    Raises:
        MissingExtraError: the extra ``charts`` is not installed.
        InvariantError: the data cannot be drawn.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError("charts", needed_for="Drawing charts") from error
    spec = vega_lite(chart)
    try:
        drawn = vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE, allowed_base_urls=[])
    except ValueError as error:
        raise InvariantError(f"Chart {chart.id!r} cannot be drawn: {error}.") from error
    title = one_line(chart.title) or kind_name(chart)
    return accessible(drawn, anchor("chart", chart.id), title, summary(chart))


def vega_lite(chart: Chart) -> ChartSpec:
    """Return the chart's Vega-Lite 6 specification, including its data.

    Raises:
        InvariantError: a value is too large to draw.
    """
    match chart:
        case PieChart():
            body = pie(chart)
        case LineChart() | AreaChart():
            body = lines(chart)
        case ScatterChart():
            body = scatter(chart)
        case BarChart() | StackedBarChart():
            body = bars(chart)
    return {"$schema": _SCHEMA, "background": None, "config": CONFIG, **body}
