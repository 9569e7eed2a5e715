"""Draws what our specifications use of Vega-Lite 6, and refuses what they do not.

A drawing takes about a millisecond and needs no other program. The tests compare its marks with
those of Vega-Lite's own renderer.
"""

from __future__ import annotations

from artificer.render.charts.drawn.picture import Drawing, draw

__all__ = ["Drawing", "draw"]
