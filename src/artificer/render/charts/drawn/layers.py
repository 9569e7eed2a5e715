"""The layers of a specification, each with its data, and what their channels cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from artificer.render.charts.style import ChartSpec

DataRow = ChartSpec


class Layer(Struct, frozen=True):
    """A mark with its encoding and its rows. ``side`` tells axes of the same channel apart."""

    mark: ChartSpec
    encoding: ChartSpec
    rows: Sequence[DataRow]
    side: int = 0

    @property
    def stacked(self) -> bool:
        """Whether the bars of one label add up."""
        encoding = self.encoding
        plain = not {"xOffset", "yOffset", "x2", "y2"} & set(encoding)
        return self.mark["type"] == "bar" and plain and "field" in encoding.get("color", {})


def layers_of(spec: ChartSpec, rows: Sequence[DataRow] = ()) -> list[Layer]:
    """Return the layers of a view, from the back to the front."""
    apart = spec.get("resolve", {}).get("scale", {}).get("y") == "independent"
    return list(_flat(spec, rows, apart, 0))


def _flat(spec: ChartSpec, rows: Sequence[DataRow], apart: bool, side: int) -> Iterator[Layer]:
    rows = spec.get("data", {}).get("values", rows)
    if "mark" in spec:
        yield Layer(spec["mark"], spec["encoding"], rows, side)
    for index, inner in enumerate(spec.get("layer", ())):
        yield from _flat(inner, rows, False, index if apart else side)


def channel(layers: Sequence[Layer], name: str, side: int) -> ChartSpec | None:
    """Return the definition of a channel: that of the first layer that says how it is scaled."""
    defined = [
        layer.encoding[name]
        for layer in layers
        if layer.side == side and "field" in layer.encoding.get(name, {})
    ]
    return next((d for d in defined if d.get("scale")), defined[0] if defined else None)


def covered(layers: Sequence[Layer], name: str, side: int) -> list[float]:
    """Return every number that the scale of a channel has to cover."""
    found: list[float] = []
    for layer in layers:
        if layer.side != side:
            continue
        fields = [layer.encoding[n]["field"] for n in (name, name + "2") if _has(layer, n)]
        if layer.stacked and fields:
            found += _sums(layer, fields[0], "y" if name == "x" else "x")
            continue
        for field in fields:
            found += [row[field] for row in layer.rows if row[field] is not None]
    return found


def _has(layer: Layer, name: str) -> bool:
    return "field" in layer.encoding.get(name, {})


def _sums(layer: Layer, field: str, along: str) -> list[float]:
    sums: dict[Any, float] = {}
    label = layer.encoding[along]["field"]
    for row in layer.rows:
        sums[row[label]] = sums.get(row[label], 0) + (row[field] or 0)
    return [0.0, *sums.values()]


def above(layers: Sequence[Layer]) -> float:
    """Return how far marks with a place in pixels reach above the drawing."""
    places = (layer.encoding.get("y", {}).get("value", 0) for layer in layers)
    return max((-place for place in places if not isinstance(place, str)), default=0.0)
