"""The CSS of an element, from style sheets and ``style``, turned into attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from artificer.artifacts.svg import allowed, grammar, shorthand
from artificer.artifacts.svg.parse import Element
from artificer.artifacts.svg.references import Shape
from artificer.artifacts.svg.sheet import Sheet, Unreadable
from artificer.artifacts.svg.style import Declaration, declarations
from artificer.artifacts.svg.view import ViewBox, view

_PRESERVED = frozenset({"pre", "pre-wrap", "break-spaces"})
_COLLAPSED = frozenset({"normal", "nowrap", "pre-line", "initial"})
_MAX_VARIABLE = 200
_AREA = ("x", "y", "width", "height")

IN_SHEET = "in <style>"


@dataclass
class Styled:
    """An element and its attributes so far.

    ``name`` is the name under which it is accepted. ``box`` is the base of ``transform-origin``.
    """

    element: Element
    name: str
    outermost: bool
    preserve: bool
    variables: dict[str, str]
    box: ViewBox | None
    attributes: dict[str, str]
    origin: str = ""


Declared = tuple[Declaration, str]
"""A declaration, and its place in words."""

Refuse = Callable[[Styled, Declaration, str], None]
"""Reports a declaration that is not accepted, with its place."""


class Properties:
    """The CSS of one drawing.

    ``background`` is the colour behind the drawing, ``shadows`` the filters its declarations need.
    """

    def __init__(self, root: Element, sheet: Sheet, taken: set[str | None], refuse: Refuse) -> None:
        self.background = ""
        self.shadows: list[Shape] = []
        self._view = view({key: value for (_, key), value in root.attributes.items()})
        self._numbers = count(1)
        self._sheet = sheet
        self._taken = taken
        self._refuse = refuse

    def declared(self, styled: Styled, path: tuple[Element, ...]) -> list[Declared]:
        """Return the declarations for an element, the weakest first, and record its variables.

        Raises Unreadable.
        """
        element = styled.element
        own = list(declarations(element.attributes.get(("", "style"), "")))
        if None in own:
            raise Unreadable(f"the style of <{element.name}> is not a list of plain declarations")
        every = [(one, IN_SHEET) for one in self._sheet.matching(list(path))]
        every += [(one, f"in the style of <{element.name}>") for one in own if one]
        every.sort(key=lambda pair: pair[0].important)
        variables = [pair for pair in every if pair[0].name.startswith("--")]
        if variables:
            styled.variables = dict(styled.variables)  # those of its parent remain as they are
        for one, where in variables:
            self._variable(styled, one, where)
        return [pair for pair in every if not pair[0].name.startswith("--")]

    def apply(self, styled: Styled, every: list[Declared]) -> None:
        """Turn declarations into attributes, which they override. Raises Unreadable."""
        for one, where in every:
            self.set(styled, one, where)
        self._move(styled)

    def set(self, styled: Styled, declared: Declaration, where: str) -> None:
        """Apply one declaration."""
        if allowed.is_dropped_property(declared.name):
            return
        value = shorthand.substitute(declared.value, styled.variables)
        special = _SPECIAL.get(declared.name)
        if value is None or not (
            special(self, styled, value) if special else _set(styled, declared.name, value)
        ):
            self._refuse(styled, declared, where)

    def _variable(self, styled: Styled, declared: Declaration, where: str) -> None:
        value = shorthand.substitute(declared.value, styled.variables)
        if value is None or len(value) > _MAX_VARIABLE:
            self._refuse(styled, declared, where)
        else:
            styled.variables[declared.name] = value

    def _move(self, styled: Styled) -> None:
        """Rewrite a transform about another origin as one about the coordinates' own origin."""
        transform = styled.attributes.get("transform", "none")
        if not styled.origin or transform == "none":
            return
        moved = shorthand.around(transform, styled.origin, styled.box)
        if moved is None:
            raise Unreadable(
                "the transform-origin is not accepted: write rotate(angle x y) instead"
            )
        styled.attributes["transform"] = moved

    # --- properties without an attribute: each method returns whether it understood the value -----

    def _white_space(self, styled: Styled, value: str) -> bool:
        styled.preserve = value in _PRESERVED
        return value in _PRESERVED | _COLLAPSED

    def _font(self, styled: Styled, value: str) -> bool:
        parts = shorthand.font(value)
        return parts is not None and all(_set(styled, *part) for part in parts.items())

    def _transform(self, styled: Styled, value: str) -> bool:
        spelled = grammar.transform(shorthand.transform(value) or "?")
        if spelled is None or styled.outermost:
            return False
        styled.attributes["transform"] = spelled
        return True

    def _origin(self, styled: Styled, value: str) -> bool:
        styled.origin = value
        return True

    def _reference_box(self, styled: Styled, value: str) -> bool:
        return value == "view-box"

    def _background(self, styled: Styled, value: str) -> bool:
        """Apply a background, which only the outermost element can have."""
        colour = grammar.colour(value)
        if colour is not None and styled.outermost:
            self.background = "" if colour in ("none", "transparent") else colour
        return colour is not None

    def _filter(self, styled: Styled, value: str) -> bool:
        if value == "none":
            styled.attributes.pop("filter", None)
            return True
        shadow = shorthand.drop_shadow(value)
        if shadow is None or self._view is None or styled.outermost:
            return "(" in value and _set(styled, "filter", value)
        left, top, width, height = self._view
        sides = (left - width, top - height, 3 * width, 3 * height)
        area = {key: f"{side:.6g}" for key, side in zip(_AREA, sides, strict=True)}
        step = _ours("feDropShadow", shadow, styled)
        own = {"id": self._free_id(), "filterUnits": "userSpaceOnUse"}
        made = _ours("filter", area, styled, own)
        made.children.append(step)
        self.shadows.append(made)
        styled.attributes["filter"] = f"url(#{own['id']})"
        return True

    def _free_id(self) -> str:
        name = next(free for n in self._numbers if (free := f"shadow{n}") not in self._taken)
        self._taken.add(name)
        return name


_SPECIAL: dict[str, Callable[[Properties, Styled, str], bool]] = {
    "background": Properties._background,
    "background-color": Properties._background,
    "filter": Properties._filter,
    "font": Properties._font,
    "transform": Properties._transform,
    "transform-box": Properties._reference_box,
    "transform-origin": Properties._origin,
    "white-space": Properties._white_space,
}


def _set(styled: Styled, name: str, value: str) -> bool:
    """Set an attribute from a property. Return False if the property or its value is refused."""
    known = allowed.grammar_in_style(styled.name, name, outermost=styled.outermost)
    spelled = known(value) if known else None
    if spelled is not None:
        styled.attributes[name] = spelled
    return spelled is not None


def _ours(
    name: str, attributes: dict[str, str], styled: Styled, own: dict[str, str] | None = None
) -> Shape:
    """Return a generated shape, checked by the same grammars as the model's shapes."""
    spelled = {key: allowed.ELEMENTS[name][key](value) for key, value in attributes.items()}
    kept = {key: value for key, value in spelled.items() if value is not None}
    return Shape(name, {**kept, **(own or {})}, styled.element.line)
