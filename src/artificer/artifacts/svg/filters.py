"""The filters that a drawing may have: shadows and glows, nothing that reads an image."""

from __future__ import annotations

from artificer.artifacts.svg import grammar as g
from artificer.artifacts.svg.grammar import Grammar

_PRIMITIVE: dict[str, Grammar] = {
    "in": g.identifier,
    "result": g.identifier,
    "x": g.area,
    "y": g.area,
    "width": g.area,
    "height": g.area,
    "color-interpolation-filters": g.words,
}
FLOOD: dict[str, Grammar] = {"flood-color": g.colour, "flood-opacity": g.length_or_words}
_FUNCTION: dict[str, Grammar] = {
    "type": g.words,
    "tableValues": g.numbers,
    **dict.fromkeys(("slope", "intercept", "amplitude", "exponent", "offset"), g.number),
}
FILTERS: dict[str, dict[str, Grammar]] = {
    "filter": {
        **dict.fromkeys(("x", "y", "width", "height"), g.area),
        "filterUnits": g.words,
        "primitiveUnits": g.words,
        "color-interpolation-filters": g.words,
    },
    "feDropShadow": {
        **_PRIMITIVE,
        **FLOOD,
        "dx": g.number,
        "dy": g.number,
        "stdDeviation": g.blur,
    },
    "feGaussianBlur": {**_PRIMITIVE, "stdDeviation": g.blur, "edgeMode": g.words},
    "feOffset": {**_PRIMITIVE, "dx": g.number, "dy": g.number},
    "feFlood": {**_PRIMITIVE, **FLOOD},
    "feMerge": _PRIMITIVE,
    "feMergeNode": {"in": g.identifier},
    "feBlend": {**_PRIMITIVE, "in2": g.identifier, "mode": g.words},
    "feComposite": {
        **_PRIMITIVE,
        "in2": g.identifier,
        "operator": g.words,
        **dict.fromkeys(("k1", "k2", "k3", "k4"), g.number),
    },
    "feColorMatrix": {**_PRIMITIVE, "type": g.words, "values": g.numbers},
    "feComponentTransfer": _PRIMITIVE,
    **dict.fromkeys(("feFuncR", "feFuncG", "feFuncB", "feFuncA"), _FUNCTION),
}
"""Elements for shadows and glows, none of which reads an image or costs much."""

CHANNELS = frozenset({"feFuncR", "feFuncG", "feFuncB", "feFuncA"})
STEPS = frozenset(FILTERS) - {"filter", "feMergeNode"} - CHANNELS
"""The elements of a ``<filter>``."""
