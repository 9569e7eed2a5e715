"""References within a drawing: each one resolves, none is circular, and their cost is bounded.

A reference to an unknown id is removed, as a browser would ignore it. The cost of a drawing with
all references followed is bounded: nine levels of ten ``use`` elements each would otherwise draw a
thousand million shapes (CVE-2026-31899).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from artificer.artifacts.svg import grammar
from artificer.artifacts.svg.allowed import REFERENCES
from artificer.artifacts.svg.parse import problem
from artificer.values.base import Problem

MAX_DRAWN = 20_000
"""Most elements drawn with every reference followed."""

_COSTLY = {"filter": 50}
"""The cost of a filter step, in elements, because it works on pixels."""

MAX_CHAIN = 8
"""Longest chain of references."""


@dataclass
class Shape:
    """An accepted element with canonical attributes."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Shape | str] = field(default_factory=list)

    @property
    def shapes(self) -> list[Shape]:
        """The children that are elements."""
        return [child for child in self.children if isinstance(child, Shape)]


def collect(root: Shape) -> dict[str, Shape] | tuple[Problem, ...]:
    """Return all elements with an id, or problems for duplicate ids that are referred to.

    A duplicate that nothing refers to keeps its last element, which makes no visible difference.
    """
    found: dict[str, Shape] = {}
    problems: list[Problem] = []
    shapes = walk(root)
    wanted = {_target(shape, name) for shape in shapes for name in REFERENCES}
    for shape in shapes:
        name = shape.attributes.get("id")
        if name is None:
            continue
        if name in found and name in wanted:
            problems.append(problem(f"the id {name!r} is used twice", shape.line))
        elif name in found:
            del shape.attributes["id"]
        found.setdefault(name, shape)
    return tuple(problems) or found


def walk(root: Shape) -> list[Shape]:
    """Return the element and all its descendants, in document order."""
    found, waiting = [], [root]
    while waiting:
        shape = waiting.pop()
        found.append(shape)
        waiting += reversed(shape.shapes)
    return found


def drop_dangling(root: Shape, known: dict[str, Shape]) -> None:
    """Remove references to unknown ids.

    A paint becomes its fallback colour, or ``none`` (SVG 2 section 13.2). Any other attribute is
    removed, and a ``use`` without it draws nothing, as before.
    """
    for shape in walk(root):
        for name in REFERENCES:
            wanted = _target(shape, name)
            if wanted is None or wanted in known:
                continue
            if name in ("fill", "stroke"):
                shape.attributes[name] = shape.attributes[name].partition(" ")[2] or "none"
            else:
                del shape.attributes[name]


def rename(root: Shape, prefix: str) -> None:
    """Put ``prefix`` before every id and every reference to one."""
    for shape in walk(root):
        if "id" in shape.attributes:
            shape.attributes["id"] = prefix + shape.attributes["id"]
        for name in REFERENCES:
            if _target(shape, name):
                shape.attributes[name] = shape.attributes[name].replace("#", "#" + prefix, 1)


def cost_problems(root: Shape, known: dict[str, Shape]) -> tuple[Problem, ...]:
    """Return problems if the references cannot be followed at a bounded cost."""
    counter = _Counter(known)
    try:
        drawn = counter.drawn(root, 0)[0]
    except _Endless as endless:
        return (problem(str(endless), endless.line),)
    if drawn > MAX_DRAWN:
        return (
            Problem(
                pointer="/svg/content",
                message="draws too many elements once its references are followed",
                limit=MAX_DRAWN,
                actual=min(drawn, 10**15),
            ),
        )
    return ()


def _target(shape: Shape, name: str) -> str | None:
    value = shape.attributes.get(name)
    return None if value is None else grammar.target(name, value)


class _Endless(Exception):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Counter:
    """Counts the drawn elements. Recursion is at most MAX_CHAIN times the document's depth."""

    def __init__(self, known: dict[str, Shape]) -> None:
        self._known = known
        self._sums: dict[int, tuple[int, int]] = {}
        self._busy: set[int] = set()

    def drawn(self, shape: Shape, level: int) -> tuple[int, int]:
        """Return the elements drawn for a shape, and its longest chain of references."""
        key = id(shape)
        if key in self._busy:
            raise _Endless("a reference leads back to itself", shape.line)
        if key in self._sums:
            total, chain = self._sums[key]
        else:
            self._busy.add(key)
            total, chain = self._sum(shape, level)
            self._busy.remove(key)
            self._sums[key] = total, chain
        if level + chain > MAX_CHAIN:
            raise _Endless(f"a chain of more than {MAX_CHAIN} references", shape.line)
        return total, chain

    def _sum(self, shape: Shape, level: int) -> tuple[int, int]:
        total, chain = 1, 0
        for child in shape.shapes:
            drawn, below = self.drawn(child, level)
            total, chain = total + drawn, max(chain, below)
        for name in REFERENCES:
            wanted = _target(shape, name)
            if wanted is None:
                continue
            if level >= MAX_CHAIN:
                raise _Endless(f"a chain of more than {MAX_CHAIN} references", shape.line)
            drawn, below = self.drawn(self._known[wanted], level + 1)
            times = _vertices(shape) if name == "marker-mid" else _COSTLY.get(name, 1)
            total, chain = total + drawn * times, max(chain, below + 1)
        return total, chain


def _vertices(shape: Shape) -> int:
    """Return an upper bound of the vertices of the shape's lines; each draws a marker."""
    data = (one.attributes.get("d") or one.attributes.get("points") or "" for one in walk(shape))
    return 1 + sum(text.count(" ") for text in data)
