"""Rebuilding SVG from an allow-list: what comes out was never copied, only built anew.

A blocklist recognises attacks; this
recognises drawings. Anything hostile or unknown is reported to the model with its line, all of it
at once; nothing is cut out silently that would change the picture. What is dropped because it
means nothing in a still picture is listed in :mod:`artificer.artifacts.svg_allowed`.
"""

from __future__ import annotations

import re

from artificer.artifacts import svg_allowed as allowed
from artificer.artifacts.svg_parse import SVG, Element, parse, problem
from artificer.artifacts.svg_references import (
    Shape,
    collect,
    cost_problems,
    drop_dangling,
    rename,
)
from artificer.artifacts.svg_style import declarations
from artificer.values.base import Problem

MAX_PROBLEMS = 50
"""Problems listed for one drawing; the last says how many more there are."""

_PIXELS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:px)?")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"})


def rebuild(markup: str, prefix: str) -> str | tuple[Problem, ...]:
    """Return safe, canonical markup whose ids begin with ``prefix``, or every reason why not.

    Rebuilding a result with an empty prefix gives the same result: that is checked each time.
    """
    built = _build(markup, prefix)
    if isinstance(built, str) and _build(built, "") != built:
        return (Problem(pointer="/svg/content", message="cannot be rebuilt unambiguously"),)
    return built


def _build(markup: str, prefix: str) -> str | tuple[Problem, ...]:
    element = parse(markup)
    if isinstance(element, Problem):
        return (element,)
    if element.name != "svg" or element.namespace not in ("", SVG):
        return (problem("the outermost element must be <svg>", element.line),)
    translation = _Translation()
    root = translation.shape(element)
    if translation.problems:
        return _bounded(translation.problems)
    known = collect(root)
    if isinstance(known, tuple):
        return _bounded(list(known))
    drop_dangling(root, known)
    if faults := cost_problems(root, known):
        return faults
    rename(root, prefix)
    _add_view_box(root)
    return _serialise(root)


class _Translation:
    """Turns elements as written into accepted shapes, and collects every problem on the way."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def shape(self, element: Element) -> Shape:
        """Translate an element whose name is accepted, with all below it."""
        shape = Shape(element.name, self._attributes(element), element.line)
        permitted = allowed.CHILDREN.get(element.name, allowed.CONTAINED)
        for child in element.children:
            if isinstance(child, str):
                self._text(shape, child, element)
            elif child.namespace in ("", SVG) and child.name in permitted:
                shape.children.append(self.shape(child))
            elif not allowed.is_dropped_element(child.namespace, child.name):
                self._refuse_element(child, element)
        return shape

    def _refuse(self, message: str, line: int) -> None:
        self.problems.append(problem(message, line))

    def _refuse_name(self, shown: str, fault: str, element: Element) -> None:
        hint = allowed.hint(shown.strip("<>"))
        self._refuse(f"{shown} {fault}" + (f": {hint}" if hint else ""), element.line)

    def _refuse_element(self, child: Element, parent: Element) -> None:
        known = child.namespace in ("", SVG) and child.name in allowed.ELEMENTS
        where = f" inside <{parent.name}>" if known else ""
        self._refuse_name(f"<{child.name[:40]}>", f"is not accepted{where}", child)

    def _text(self, shape: Shape, text: str, element: Element) -> None:
        if element.name in allowed.WITH_TEXT:
            shape.children.append(text)
        elif text.strip():
            self._refuse(f"text directly inside <{element.name}>: put it in a <text>", element.line)

    def _attributes(self, element: Element) -> dict[str, str]:
        kept: dict[str, str] = {}
        for (namespace, name), value in element.attributes.items():
            if namespace == allowed.XLINK and name == "href":
                namespace = ""
            if not namespace and name == "style":
                continue
            if allowed.is_dropped_attribute(namespace, name):
                continue
            self._keep(kept, element, name, value, accepted=not namespace)
        style = element.attributes.get(("", "style"))
        if style is not None:
            self._style(kept, element, style)
        return kept

    def _keep(
        self, kept: dict[str, str], element: Element, name: str, value: str, *, accepted: bool
    ) -> None:
        grammar = allowed.grammar_of(element.name, name) if accepted else None
        if grammar is None:
            self._refuse_name(name[:40], f"is not accepted on <{element.name}>", element)
            return
        spelled = grammar(value.strip())
        if spelled is None:
            self._refuse(f"the value of {name} on <{element.name}> is not accepted", element.line)
            return
        kept[name] = spelled

    def _style(self, kept: dict[str, str], element: Element, style: str) -> None:
        """Turn declarations into presentation attributes, which they override."""
        for declaration in declarations(style):
            if declaration is None:
                self._refuse(
                    f"the style of <{element.name}> is not a list of plain declarations",
                    element.line,
                )
                continue
            name, value = declaration
            if name in allowed.DROPPED_PROPERTIES or name.startswith("-"):
                continue
            grammar = allowed.grammar_in_style(element.name, name)
            spelled = grammar(value) if grammar else None
            if spelled is None:
                where = f"in the style of <{element.name}> is not accepted"
                self._refuse_name(name[:40], where, element)
            else:
                kept[name] = spelled


def _add_view_box(root: Shape) -> None:
    """Let the drawing scale: without a view box it would be cut off instead."""
    if "viewBox" in root.attributes:
        return
    width = _PIXELS.fullmatch(root.attributes.get("width", ""))
    height = _PIXELS.fullmatch(root.attributes.get("height", ""))
    if width and height and float(width.group(1)) and float(height.group(1)):
        root.attributes["viewBox"] = f"0 0 {width.group(1)} {height.group(1)}"


def _serialise(root: Shape) -> str:
    root.attributes.update(xmlns=SVG, role="img")
    parts: list[str] = []
    _write(root, parts)
    return "".join(parts)


def _write(shape: Shape, parts: list[str]) -> None:
    parts.append(f"<{shape.name}")
    parts += [
        f' {name}="{value.translate(_ESCAPES)}"' for name, value in sorted(shape.attributes.items())
    ]
    if not shape.children:
        parts.append("/>")
        return
    parts.append(">")
    for child in shape.children:
        if isinstance(child, str):
            parts.append(child.translate(_ESCAPES))
        else:
            _write(child, parts)
    parts.append(f"</{shape.name}>")


def _bounded(problems: list[Problem]) -> tuple[Problem, ...]:
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    more = len(problems) - MAX_PROBLEMS + 1
    last = Problem(pointer="/svg/content", message=f"and {more} more problems")
    return (*problems[: MAX_PROBLEMS - 1], last)
