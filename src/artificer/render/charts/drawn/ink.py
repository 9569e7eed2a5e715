"""Elements of a drawing: paths and words. The XML library escapes every text."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from msgspec import Struct

from artificer.render.charts.drawn.shapes import px
from artificer.render.charts.measure import FONT
from artificer.render.charts.style import SOFT

LINE = 14
"""Height of a line of words, in pixels."""

ANCHORS = {"left": "start", "center": "middle", "right": "end"}
BASELINES = {"top": 0.79, "middle": 0.3, "bottom": -0.21, "alphabetic": 0.0}
"""How far the base line of words is below the place they are put at, in font sizes."""


Paint = dict[str, object]
"""The attributes that colour a shape."""


class WordStyle(Struct, frozen=True):
    """The look of words."""

    anchor: str = "start"
    fill: str = SOFT
    size: float = FONT
    weight: str = ""
    angle: float = 0
    line: float = LINE


def path(into: Element, d: str, paint: Paint, title: str = "") -> None:
    """Add a shape. Its ``title`` is what a browser shows under the pointer."""
    drawn = SubElement(into, "path", {"d": d, **{name: str(v) for name, v in paint.items()}})
    if title:
        SubElement(drawn, "title").text = title


def stroke(colour: str, width: float, dash: str = "") -> Paint:
    """Return the attributes of a line."""
    paint: Paint = {"fill": "none", "stroke": colour, "stroke-width": px(width)}
    return {**paint, "stroke-dasharray": dash} if dash else paint


def words(into: Element, x: float, y: float, text: str, style: WordStyle) -> None:
    """Add words whose first base line is at ``y``; each line of the text has its own."""
    attributes = {"text-anchor": style.anchor, "font-size": px(style.size), "fill": style.fill}
    if style.weight:
        attributes["font-weight"] = style.weight
    if style.angle:
        attributes["transform"] = f"translate({px(x)},{px(y)}) rotate({px(style.angle)})"
        x, y = 0, 0
    drawn = SubElement(into, "text", attributes)
    lines = text.split("\n")
    if len(lines) == 1:
        drawn.attrib |= {"x": px(x), "y": px(y)}
        drawn.text = text
        return
    for number, line in enumerate(lines):
        at = {"x": px(x), "y": px(y + number * style.line)}
        SubElement(drawn, "tspan", at).text = line
