"""Charts: typed data becomes a Vega-Lite specification, and that becomes accessible SVG.

Model text enters a specification only as a *value*: in inline data, in a scale's domain or as an
axis title. Field names, expressions and formats are constants, so no label can be read as one of
them.
"""

from __future__ import annotations

from artificer.render.charts.spec import to_svg, vega_lite
from artificer.render.charts.style import NARROW, WIDE, Canvas

__all__ = ["NARROW", "WIDE", "Canvas", "to_svg", "vega_lite"]
