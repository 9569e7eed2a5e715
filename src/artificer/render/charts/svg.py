"""Clean-up of the renderer's SVG: accessible names added, unneeded attributes removed."""

from __future__ import annotations

from xml.etree import ElementTree

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset(("svg", "g", "path", "line", "rect", "text", "tspan"))
_ATTRIBUTES = frozenset(
    (
        "d",
        "fill",
        "fill-opacity",
        "font-size",
        "font-weight",
        "height",
        "opacity",
        "stroke",
        "stroke-dasharray",
        "stroke-linejoin",
        "stroke-miterlimit",
        "stroke-opacity",
        "stroke-width",
        "text-anchor",
        "dy",
        "transform",
        "viewBox",
        "width",
        "x",
        "x2",
        "y2",
    )
)
_WORDS = (f"{_SVG}text", f"{_SVG}tspan")
_FONTS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', system-ui, sans-serif"
"""The renderer measured the text in Liberation Sans; these fonts have the same widths."""


def accessible(drawn: str, anchor: str, title: str, description: str) -> str:
    """Return ``drawn`` as one image with a title and a description.

    The ids of both begin with ``anchor``, so that many charts fit in one page. Only known
    elements and attributes are kept. Colours stay attributes, which a page's style may override.
    """
    root = _kept(ElementTree.fromstring(drawn))
    root.attrib |= {
        "xmlns": _SVG.strip("{}"),
        "role": "img",
        "aria-labelledby": f"{anchor}-title {anchor}-desc",
        "font-family": _FONTS,
    }
    for tag, text in (("desc", description), ("title", title)):
        child = ElementTree.Element(tag, {"id": f"{anchor}-{tag}"})
        child.text = text
        root.insert(0, child)
    return ElementTree.tostring(root, encoding="unicode")


def _kept(element: ElementTree.Element) -> ElementTree.Element:
    """Return a copy of the visible shapes, without roles, labels and classes.

    The words at a mark become its title, which a browser shows under the pointer.
    """
    attributes = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    copy = ElementTree.Element(element.tag.removeprefix(_SVG), attributes)
    copy.text = element.text
    if words := element.get("aria-label", "") if element.tag == f"{_SVG}path" else "":
        ElementTree.SubElement(copy, "title").text = words
    copy.extend(_kept(child) for child in element if _drawn(child))
    return copy


def _drawn(element: ElementTree.Element) -> bool:
    if element.tag.removeprefix(_SVG) not in _ELEMENTS or element.get("display") == "none":
        return False
    if element.tag == f"{_SVG}g":
        return any(_drawn(child) for child in element)
    return element.tag in _WORDS or not {"fill", "stroke"}.isdisjoint(element.attrib)
