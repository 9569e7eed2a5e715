"""Charts: typed data to a Vega-Lite specification of ours, and from it to accessible SVG.

What a model wrote enters a specification only as a *value*: in inline data, in a scale's domain or
as an axis title. Field names, expressions and formats are constants, so no label can be read as
one of them.
"""

from __future__ import annotations

from artificer.render.charts.spec import to_svg, vega_lite

__all__ = ["to_svg", "vega_lite"]
