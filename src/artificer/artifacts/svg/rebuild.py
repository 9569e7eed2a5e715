"""Rebuilding SVG from an allow-list: no input markup is copied into the output.

A blocklist recognises attacks; this recognises drawings. Every hostile or unknown part is
reported to the model with its line, all of them at once. Nothing that would change the picture is
cut out silently. The parts that are dropped, because they have no meaning in a still picture, are
listed in :mod:`artificer.artifacts.svg.allowed`.
"""

from __future__ import annotations

from artificer.artifacts.svg.parse import SVG, parse, problem
from artificer.artifacts.svg.references import (
    Shape,
    collect,
    cost_problems,
    drop_dangling,
    rename,
)
from artificer.artifacts.svg.translate import Translation
from artificer.artifacts.svg.view import pixels
from artificer.values.base import Problem

MAX_PROBLEMS = 50
"""Problems listed for one drawing; the last one gives the number of the others."""

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"})


def rebuild(markup: str, prefix: str) -> str | tuple[Problem, ...]:
    """Return safe, canonical markup whose ids begin with ``prefix``, or every problem.

    Rebuilding a result with an empty prefix gives the same result; this is checked each time.
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
    translation = Translation(element)
    root = translation.drawing()
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


def _add_view_box(root: Shape) -> None:
    """Add a view box, so that the drawing scales; without one it would be cut off."""
    if "viewBox" in root.attributes:
        return
    width, height = (pixels(root.attributes.get(side, "")) for side in ("width", "height"))
    if width and height and float(width) and float(height):
        root.attributes["viewBox"] = f"0 0 {width} {height}"


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
