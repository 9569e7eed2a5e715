"""A view of a known size: where the values of its channels are, in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from artificer.render.charts.drawn.layers import DataRow, Layer, channel, covered
from artificer.render.charts.drawn.scales import Bands, Scale, linear, named
from artificer.render.charts.drawn.shapes import PixelPlace

_APART = 1.0
"""Between two bars of one label, in pixels."""


class Plot:
    """The scales of a view; ``width`` and ``height`` are those of its marks, without axes.

    A view is ``framed`` if it has axes around it.
    """

    def __init__(
        self, layers: Sequence[Layer], width: float, height: float, *, framed: bool = False
    ) -> None:
        self.width, self.height, self.framed = width, height, framed
        self._layers = layers
        self._scales: dict[tuple[str, int], Scale | None] = {}

    def scale(self, name: str, side: int) -> Scale | None:
        """Return the scale of x or y; None if no field has a place along it."""
        if (name, side) not in self._scales:
            self._scales[name, side] = self._made(name, side)
        return self._scales[name, side]

    def _made(self, name: str, side: int) -> Scale | None:
        definition = channel(self._layers, name, side)
        if definition is None:
            return None
        length = self.width if name == "x" else self.height
        kind = definition["type"]
        if kind == "nominal":
            return named(definition["scale"], 0, length)
        values = covered(self._layers, name, side)
        if kind == "temporal":
            return linear({"padding": definition["scale"]["padding"]}, values, 0, length)
        ends = (0.0, length) if name == "x" else (length, 0.0)
        return linear(definition.get("scale") or {}, values, *ends)

    def is_banded(self, layer: Layer, name: str) -> bool:
        """Return whether the values along a channel are names with bands."""
        return isinstance(self.scale(name, layer.side), Bands)

    def at(self, layer: Layer, name: str, value: float) -> float:
        """Return the place of a number."""
        scale = self.scale(name, layer.side)
        return scale.place(value) if scale else 0.0

    def band(self, layer: Layer, row: DataRow, name: str) -> tuple[float, float]:
        """Return the ends of a row's bar: its band, its part of it, or a size in the middle."""
        scale = self.scale(name, layer.side)
        assert scale is not None
        start, extent = scale.place(row[layer.encoding[name]["field"]]), scale.extent
        offset = layer.encoding.get(name + "Offset")
        if offset:
            lanes = offset["sort"]
            lane = extent / len(lanes)
            start += lane * lanes.index(row[offset["field"]])
            gap = min(_APART, lane / 4)
            return start, start + lane - gap
        if size := layer.mark.get("size"):
            size = min(size, extent)
            start += (extent - size) / 2
            return start, start + size
        return start, start + extent

    def span(self, layer: Layer, row: DataRow, name: str) -> tuple[float, float]:
        """Return the ends of a rectangle along a channel: its band, or its two numbers."""
        if name + "2" not in layer.encoding:
            return self.band(layer, row, name)
        ends = (self._point(layer, row, name), self._point(layer, row, name + "2"))
        return tuple(sorted(end or 0.0 for end in ends))  # type: ignore[return-value]

    def reach(self, layer: Layer, row: DataRow, name: str) -> tuple[float, float]:
        """Return the ends of a rule: a point, its two numbers, or all of the drawing."""
        if name not in layer.encoding:
            return 0.0, self.width if name == "x" else self.height
        start = self._point(layer, row, name) or 0.0
        second = self._point(layer, row, name + "2") if name + "2" in layer.encoding else None
        return start, start if second is None else second

    def place(self, layer: Layer, row: DataRow) -> PixelPlace | None:
        """Return the place of a row; None if a value is missing."""
        x, y = (self._point(layer, row, name) for name in "xy")
        return None if x is None or y is None else (x, y)

    def _point(self, layer: Layer, row: DataRow, name: str) -> float | None:
        definition: Any = layer.encoding.get(name)
        axis = name[0]
        if definition is None:
            return (self.width if axis == "x" else self.height) / 2
        if "value" in definition:
            ends = {"width": self.width, "height": self.height}
            return float(ends.get(definition["value"], definition["value"]))
        value = row[definition["field"]]
        scale = self.scale(axis, layer.side)
        if value is None or scale is None:
            return None
        return scale.place(value) + scale.extent / 2
