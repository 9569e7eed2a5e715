"""Translation of parsed elements into accepted shapes, with style sheets and white space.

Every problem is collected, so that the model gets all of them at once.
"""

from __future__ import annotations

import re

from msgspec import Struct, field, structs

from artificer.artifacts.svg import allowed, grammar
from artificer.artifacts.svg.parse import SVG, Element, problem
from artificer.artifacts.svg.properties import IN_SHEET, Properties, Styled
from artificer.artifacts.svg.references import Shape
from artificer.artifacts.svg.sheet import Sheet, Unreadable, sheet_text, style_elements
from artificer.artifacts.svg.style import Declaration
from artificer.artifacts.svg.view import ViewBox, behind, view
from artificer.values.base import Problem

_WEB = re.compile(r"(?:https?://|mailto:|#)[^\s\x00-\x20]*", re.IGNORECASE)
_OF_LINKS = frozenset({"href", "target", "rel", "download", "hreflang", "type", "referrerpolicy"})
_AS_PROPERTIES = frozenset({"filter", "transform-box", "transform-origin", "white-space"})
"""Attributes that accept the values of the property with the same name."""

_SPACES = str.maketrans(dict.fromkeys(" \t\r\n", "\u00a0"))


class _Context(Struct, frozen=True):
    """The properties that an element inherits.

    ``box`` is the view box that ``transform-origin`` refers to, if it is known.
    """

    path: tuple[Element, ...] = ()
    preserve: bool = False
    box: ViewBox | None = None
    variables: dict[str, str] = field(default_factory=dict)


class Translation:
    """Translates the elements of a drawing into shapes."""

    def __init__(self, root: Element) -> None:
        self._problems: list[tuple[int, Problem]] = []
        self._root = root
        self._reported: set[Declaration] = set()
        sheet = Sheet()
        for style in style_elements(root):
            try:
                sheet.add(sheet_text(style))
            except Unreadable as error:
                self._refuse(str(error), style.line)
        taken = {grammar.identifier(name) for name in _ids(root)}
        self._properties = Properties(root, sheet, taken, self._refuse_property)

    @property
    def problems(self) -> list[Problem]:
        """Return the reasons why the drawing is refused, in the order of their lines."""
        return [found for _, found in sorted(self._problems, key=lambda pair: pair[0])]

    def drawing(self) -> Shape:
        """Translate the whole drawing, whose outermost element is an ``svg``."""
        root = self._shape(self._root, "svg", _Context())
        made = self._properties
        if made.background:
            sides = zip(("x", "y", "width", "height"), behind(root.attributes), strict=True)
            place = dict(sides)
            paint = {"fill": made.background, "fill-opacity": "1", "stroke": "none"}
            root.children.insert(0, Shape("rect", place | paint, root.line))
        if made.shadows:
            root.children.insert(0, Shape("defs", {}, root.line, [*made.shadows]))
        return root

    def _shape(self, element: Element, name: str, around: _Context) -> Shape:
        """Translate an element, accepted under ``name``, and all its descendants."""
        path = (*around.path, element)
        styled = self._styled(element, name, path, around)
        shape = Shape(name, styled.attributes, element.line)
        inside = _Context(path, styled.preserve, around.box, styled.variables)
        if styled.outermost:
            inside = structs.replace(inside, box=view(shape.attributes))
        elif "viewBox" in allowed.ELEMENTS[name]:
            inside = structs.replace(inside, box=None)
        permitted = allowed.CHILDREN.get(name, allowed.CONTAINED)
        for child in element.children:
            if isinstance(child, str):
                self._text(shape, child, element, preserve=inside.preserve)
            elif (accepted := _accepted(child, permitted)) is not None:
                shape.children.append(self._shape(child, accepted, inside))
            elif not _is_silent(child):
                self._refuse_element(child, element)
        return shape

    def _refuse(self, message: str, line: int) -> None:
        self._problems.append((line, problem(message, line)))

    def _refuse_name(self, shown: str, fault: str, element: Element) -> None:
        hint = allowed.hint(shown.strip("<>"))
        self._refuse(f"{shown} {fault}" + (f": {hint}" if hint else ""), element.line)

    def _refuse_element(self, child: Element, parent: Element) -> None:
        known = child.namespace in ("", SVG) and child.name in allowed.ELEMENTS
        where = f" inside <{parent.name}>" if known else ""
        self._refuse_name(f"<{child.name[:40]}>", f"is not accepted{where}", child)

    def _text(self, shape: Shape, text: str, element: Element, *, preserve: bool) -> None:
        if shape.name in ("title", "desc"):
            shape.children.append(text)
        elif shape.name in allowed.WITH_TEXT:
            shape.children.append(text.translate(_SPACES) if preserve else text)
        elif text.strip():
            self._refuse(f"text directly inside <{element.name}>: put it in a <text>", element.line)

    # --- attributes ---------------------------------------------------------------------------

    def _styled(
        self, element: Element, name: str, path: tuple[Element, ...], around: _Context
    ) -> Styled:
        outermost = len(path) == 1
        styled = Styled(element, name, outermost, around.preserve, around.variables, around.box, {})
        properties = self._attributes(styled)
        try:
            every = self._properties.declared(styled, path)
            for key, value in properties.items():
                declared = Declaration(key, value, important=False)
                self._properties.set(styled, declared, f"on <{element.name}>")
            self._properties.apply(styled, every)
        except Unreadable as error:
            self._refuse(str(error), element.line)
        return styled

    def _attributes(self, styled: Styled) -> dict[str, str]:
        """Keep the plain attributes; return those that are treated like properties."""
        element, properties = styled.element, {}
        for (namespace, key), value in element.attributes.items():
            if namespace == allowed.XML and key == "space":
                styled.preserve = value == "preserve"
                continue
            if namespace == allowed.XLINK and key == "href":
                namespace = ""
            if _is_for_others(element, namespace, key):
                continue
            if not namespace and (key in _AS_PROPERTIES or "var(" in value):
                properties[key] = value.strip()
            else:
                self._keep(styled, key, value, accepted=not namespace)
        return properties

    def _keep(self, styled: Styled, key: str, value: str, *, accepted: bool) -> None:
        element = styled.element
        known = allowed.grammar_of(styled.name, key, outermost=styled.outermost)
        if known is None or not accepted:
            self._refuse_name(key[:40], f"is not accepted on <{element.name}>", element)
            return
        spelled = known(value.strip())
        if spelled is None:
            self._refuse(f"the value of {key} on <{element.name}> is not accepted", element.line)
            return
        styled.attributes[key] = spelled

    def _refuse_property(self, styled: Styled, declared: Declaration, where: str) -> None:
        """Report a declaration; one of a style sheet only once, for however many elements."""
        if where == IN_SHEET:
            if declared in self._reported:
                return
            self._reported.add(declared)
        self._refuse_name(declared.name[:40], f"{where} is not accepted", styled.element)


def _accepted(child: Element, permitted: frozenset[str]) -> str | None:
    """Return the name under which a child is accepted, or None. A link becomes a group."""
    if child.namespace not in ("", SVG):
        return None
    if child.name == "a":
        places = [child.attributes.get((space, "href"), "#") for space in ("", allowed.XLINK)]
        harmless = all(_WEB.fullmatch(place) for place in places)
        return next((name for name in ("g", "tspan") if harmless and name in permitted), None)
    return child.name if child.name in permitted else None


def _is_for_others(element: Element, namespace: str, key: str) -> bool:
    """Return whether an attribute is for links or style sheets, or has no meaning here."""
    if not namespace and (key in ("style", "class") or (element.name == "a" and key in _OF_LINKS)):
        return True
    return allowed.is_dropped_attribute(namespace, key)


def _is_silent(child: Element) -> bool:
    """Return whether an element is not drawn: notes, and style sheets, which are read already."""
    if child.namespace in ("", SVG) and child.name == "style":
        return True
    return allowed.is_dropped_element(child.namespace, child.name)


def _ids(root: Element) -> list[str]:
    found: list[str] = []
    waiting = [root]
    while waiting:
        element = waiting.pop()
        found += [v for (space, key), v in element.attributes.items() if not space and key == "id"]
        waiting += [child for child in element.children if isinstance(child, Element)]
    return found
