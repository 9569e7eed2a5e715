"""The allow-list of drawings: elements, their attributes, and the parts that are dropped.

There are three cases. A name in ELEMENTS, COMMON or PRESENTATION is kept if its value satisfies its
grammar. A name without meaning in a still picture is dropped: comments, ``class``, ``data-*``,
``aria-*`` other than ``aria-label``, ``role``, pointer behaviour, and the notes of drawing
programs. Everything else is a problem for the model, because dropping it would change the picture
or hide an attack.
"""

from __future__ import annotations

from artificer.artifacts.svg import grammar as g
from artificer.artifacts.svg.filters import CHANNELS, FILTERS, FLOOD, STEPS
from artificer.artifacts.svg.grammar import Grammar
from artificer.artifacts.svg.parse import SVG

XLINK = "http://www.w3.org/1999/xlink"
XML = "http://www.w3.org/XML/1998/namespace"

_BOX: dict[str, Grammar] = {
    "x": g.length,
    "y": g.length,
    "width": g.length_or_words,
    "height": g.length_or_words,
}
_VIEW: dict[str, Grammar] = {"viewBox": g.view_box, "preserveAspectRatio": g.words}
_SHAPE: dict[str, Grammar] = {"pathLength": g.number}
_TEXT: dict[str, Grammar] = {
    "x": g.lengths,
    "y": g.lengths,
    "dx": g.lengths,
    "dy": g.lengths,
    "rotate": g.lengths,
    "textLength": g.length,
    "lengthAdjust": g.words,
}
_GRADIENT: dict[str, Grammar] = {
    "gradientUnits": g.words,
    "gradientTransform": g.transform,
    "spreadMethod": g.words,
    "href": g.href,
}

ELEMENTS: dict[str, dict[str, Grammar]] = {
    "svg": {**_BOX, **_VIEW},
    "g": {},
    "defs": {},
    "symbol": {**_BOX, **_VIEW, "refX": g.length_or_words, "refY": g.length_or_words},
    "title": {},
    "desc": {},
    "path": {**_SHAPE, "d": g.path},
    "rect": {**_SHAPE, **_BOX, "rx": g.length_or_words, "ry": g.length_or_words},
    "circle": {**_SHAPE, "cx": g.length, "cy": g.length, "r": g.length},
    "ellipse": {
        **_SHAPE,
        "cx": g.length,
        "cy": g.length,
        "rx": g.length_or_words,
        "ry": g.length_or_words,
    },
    "line": {**_SHAPE, "x1": g.length, "y1": g.length, "x2": g.length, "y2": g.length},
    "polyline": {**_SHAPE, "points": g.points},
    "polygon": {**_SHAPE, "points": g.points},
    "text": _TEXT,
    "tspan": _TEXT,
    "marker": {
        **_VIEW,
        "refX": g.length_or_words,
        "refY": g.length_or_words,
        "markerWidth": g.length,
        "markerHeight": g.length,
        "markerUnits": g.words,
        "orient": g.angle_or_words,
    },
    "linearGradient": {
        **_GRADIENT,
        "x1": g.length,
        "y1": g.length,
        "x2": g.length,
        "y2": g.length,
    },
    "radialGradient": {
        **_GRADIENT,
        "cx": g.length,
        "cy": g.length,
        "r": g.length,
        "fx": g.length,
        "fy": g.length,
        "fr": g.length,
    },
    "stop": {"offset": g.length},
    "clipPath": {"clipPathUnits": g.words},
    "mask": {**_BOX, "maskUnits": g.words, "maskContentUnits": g.words},
    "pattern": {
        **_BOX,
        **_VIEW,
        "patternUnits": g.words,
        "patternContentUnits": g.words,
        "patternTransform": g.transform,
        "href": g.href,
    },
    "use": {**_BOX, "href": g.href},
    "textPath": {
        "href": g.href,
        "startOffset": g.length,
        "method": g.words,
        "spacing": g.words,
        "side": g.words,
        "textLength": g.length,
        "lengthAdjust": g.words,
    },
    **FILTERS,
}
"""The accepted elements, with the attributes that only they have."""

COMMON: dict[str, Grammar] = {
    "id": g.identifier,
    "lang": g.language,
    "aria-label": g.text,
    "transform": g.transform,
}

PRESENTATION: dict[str, Grammar] = {
    "alignment-baseline": g.words,
    "baseline-shift": g.length_or_words,
    "clip-path": g.reference,
    "clip-rule": g.words,
    "color": g.colour,
    "color-interpolation": g.words,
    "color-rendering": g.words,
    "direction": g.words,
    "display": g.words,
    "dominant-baseline": g.words,
    "fill": g.paint,
    "fill-opacity": g.length_or_words,
    "fill-rule": g.words,
    "filter": g.reference,
    "font-family": g.fonts,
    "font-size": g.length_or_words,
    "font-size-adjust": g.length_or_words,
    "font-stretch": g.length_or_words,
    "font-style": g.words,
    "font-variant": g.words,
    "font-weight": g.length_or_words,
    "image-rendering": g.words,
    "letter-spacing": g.length_or_words,
    "marker-end": g.reference,
    "marker-mid": g.reference,
    "marker-start": g.reference,
    "mask": g.reference,
    "mask-type": g.words,
    "opacity": g.length_or_words,
    "overflow": g.words,
    "paint-order": g.words,
    "shape-rendering": g.words,
    "stop-color": g.colour,
    "stop-opacity": g.length_or_words,
    "stroke": g.paint,
    "stroke-dasharray": g.lengths,
    "stroke-dashoffset": g.length_or_words,
    "stroke-linecap": g.words,
    "stroke-linejoin": g.words,
    "stroke-miterlimit": g.length_or_words,
    "stroke-opacity": g.length_or_words,
    "stroke-width": g.length_or_words,
    "text-anchor": g.words,
    "text-decoration": g.words,
    "text-rendering": g.words,
    "unicode-bidi": g.words,
    "vector-effect": g.words,
    "visibility": g.words,
    "word-spacing": g.length_or_words,
    "writing-mode": g.words,
}
"""Attributes of every element that ``style`` may set too."""

REFERENCES = (
    "clip-path",
    "fill",
    "filter",
    "href",
    "marker-end",
    "marker-mid",
    "marker-start",
    "mask",
    "stroke",
)
"""The attributes whose value may refer to an id."""

_NESTING = ("feMerge", "feComponentTransfer")

CHILDREN: dict[str, frozenset[str]] = {
    "title": frozenset(),
    "desc": frozenset(),
    "text": frozenset({"tspan", "textPath", "title", "desc"}),
    "tspan": frozenset({"tspan", "title", "desc"}),
    "textPath": frozenset({"tspan", "title", "desc"}),
    "filter": STEPS,
    "feMerge": frozenset({"feMergeNode"}),
    "feComponentTransfer": CHANNELS,
    **dict.fromkeys({*STEPS, *CHANNELS, "feMergeNode"} - set(_NESTING), frozenset[str]()),
    "linearGradient": frozenset({"stop", "title", "desc"}),
    "radialGradient": frozenset({"stop", "title", "desc"}),
    **dict.fromkeys(
        ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "stop", "use"),
        frozenset({"title", "desc"}),
    ),
}
"""The elements that an element may contain, if they are not all of CONTAINED."""

CONTAINED = frozenset(ELEMENTS) - {"tspan", "textPath", "stop", *FILTERS} | {"filter"}
WITH_TEXT = frozenset({"text", "tspan", "textPath", "title", "desc"})

DROPPED_ATTRIBUTES = frozenset(
    {
        "baseProfile",
        "class",
        "cursor",
        "enable-background",
        "focusable",
        "pointer-events",
        "role",
        "tabindex",
        "version",
    }
)
DROPPED_PROPERTIES = frozenset(
    {
        "cursor",
        "max-height",
        "max-width",
        "pointer-events",
        "line-height",
        "text-align",
        "transition",
        "user-select",
        "will-change",
        "-moz-osx-font-smoothing",
        "-moz-user-select",
        "-ms-user-select",
        "-webkit-font-smoothing",
        "-webkit-tap-highlight-color",
        "-webkit-text-size-adjust",
        "-webkit-user-select",
    }
)
GEOMETRY = frozenset({"cx", "cy", "height", "r", "rx", "ry", "width", "x", "y"})
"""Attributes of shapes that ``style`` may set (SVG 2 section 7.2)."""

NOT_ON_ROOT = frozenset({"filter", "overflow", "transform"})
"""Properties with which an embedded drawing could cover the rest of the page."""

HINTS = {
    "a": "leave links out",
    "background": "draw a <rect> behind everything instead",
    "background-color": "draw a <rect> behind everything instead",
    "filter": "write <filter> with feDropShadow or feGaussianBlur instead, or leave the effect out",
    "font": "write font-size, font-family and font-weight instead",
    "transform": "write the attribute transform instead, with plain numbers",
    "transform-origin": "write rotate(angle x y) in the attribute transform instead",
}
"""Suggestions for elements, attributes and properties that models often write."""

EDITORS = frozenset(
    {
        "http://www.inkscape.org/namespaces/inkscape",
        "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
        "http://www.bohemiancoding.com/sketch/ns",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "http://creativecommons.org/ns#",
        "http://purl.org/dc/elements/1.1/",
    }
)
"""Namespaces of the notes that drawing programs add."""


_SPELLINGS = {
    name.lower(): name
    for name in (*ELEMENTS, *(attribute for own in ELEMENTS.values() for attribute in own))
}


def hint(name: str) -> str | None:
    """Return the suggestion for a refused element, attribute or property, or None."""
    spelling = _SPELLINGS.get(name.lower(), name)
    return HINTS.get(name) or (f"write {spelling}" if spelling != name else None)


def is_dropped_element(namespace: str, name: str) -> bool:
    """Return whether the element, with its content, is an invisible note."""
    return namespace in EDITORS or (namespace in ("", SVG) and name == "metadata")


def is_dropped_attribute(namespace: str, name: str) -> bool:
    """Return whether the attribute has no meaning in a still picture."""
    if namespace == XML:
        return name == "lang"
    if namespace:
        return namespace in EDITORS or (namespace == XLINK and name != "href")
    if name == "aria-label":
        return False
    return name in DROPPED_ATTRIBUTES or name.startswith(("data-", "aria-"))


def is_dropped_property(name: str) -> bool:
    """Return whether the property has no meaning in a still picture."""
    return name in DROPPED_PROPERTIES or name.startswith("-inkscape-")


def grammar_of(element: str, attribute: str, *, outermost: bool = False) -> Grammar | None:
    """Return the grammar of an attribute's value, or None if the attribute is not accepted."""
    if outermost and attribute in NOT_ON_ROOT:
        return None
    return ELEMENTS[element].get(attribute) or COMMON.get(attribute) or PRESENTATION.get(attribute)


def grammar_in_style(
    element: str, property_name: str, *, outermost: bool = False
) -> Grammar | None:
    """Return the grammar of a property in ``style``, or None if it is not accepted."""
    geometry = property_name in GEOMETRY and element not in WITH_TEXT
    if geometry or property_name in PRESENTATION or property_name in FLOOD:
        return grammar_of(element, property_name, outermost=outermost)
    return None
