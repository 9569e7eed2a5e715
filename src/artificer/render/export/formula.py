"""Formulas on one line.

Neither converter sets MathML, and without marks an exponent would be a digit of its base.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

_BETWEEN = {"msup": "^", "mover": "^", "msub": "_", "munder": "_"}


def linear(root: Element) -> None:
    """Replace each formula by its text on one line."""
    for math in root.iter("math"):
        text = _text(math)
        math[:] = []
        math.tag, math.text = "span", text
        math.attrib.clear()
        math.set("class", "formula")


def _text(element: Element) -> str:
    write = _WRITERS.get(element.tag, _row)
    return write(element)


def _row(element: Element) -> str:
    return (element.text or "").strip() + "".join(_text(child) for child in element)


def _pair(element: Element) -> str:
    return _BETWEEN[element.tag].join(_grouped(child) for child in element)


def _fraction(element: Element) -> str:
    return f"({'/'.join(_grouped(child) for child in element)})"


def _both(element: Element) -> str:
    base, *marks = (_grouped(child) for child in element)
    return base + "".join(f"{sign}{mark}" for sign, mark in zip("_^", marks, strict=False))


def _root(element: Element) -> str:
    return f"√({_row(element)})"


def _nth_root(element: Element) -> str:
    base, *index = (_text(child) for child in element)
    return f"root_{''.join(index)}({base})"


def _cells(element: Element) -> str:
    return ", ".join(_text(child) for child in element)


def _lines(element: Element) -> str:
    return "[" + "; ".join(_text(child) for child in element) + "]"


def _nothing(element: Element) -> str:
    return ""


def _grouped(element: Element) -> str:
    """Return a part of a formula, in parentheses if it is more than a number or a name."""
    text = _text(element)
    return text if len(text) == 1 or text.isalnum() else f"({text})"


_WRITERS: dict[str, Callable[[Element], str]] = {
    **dict.fromkeys(_BETWEEN, _pair),
    **dict.fromkeys(("msubsup", "munderover"), _both),
    "annotation": _nothing,
    "mfrac": _fraction,
    "mroot": _nth_root,
    "msqrt": _root,
    "mtable": _lines,
    "mtr": _cells,
}
