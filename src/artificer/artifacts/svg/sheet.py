"""The ``<style>`` of a drawing: simple selectors, whose rules become attributes.

Elements, classes, ids and ``*``, nested or not, cover what people write in drawings. The style
sheet itself is never written to the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from artificer.artifacts.svg.parse import SVG, Element
from artificer.artifacts.svg.style import Declaration, declaration

MAX_SHEET = 16_000
"""Characters of all style sheets of a drawing together."""

MAX_SELECTORS = 200
MAX_STEPS = 6
MAX_WORK = 400_000
"""Most comparisons of a selector part with an element, and applications of a declaration."""

_SELECTOR = re.compile(r"[\w\s.#>*:-]{1,200}")
_PIECE = re.compile(r"\s*>\s*|\s+|[^\s>]+")
_COMPOUND = re.compile(r"(\*|[A-Za-z][\w-]*)?((?:[.#]-?[^\W\d][\w-]*|:[a-z-]+)*)")
_PART = re.compile(r"[.#:][^.#:]+")
_SELECTORS = "<style> has a selector that is not accepted: use elements, classes and ids"
_UNSEEN = frozenset({":hover", ":active", ":focus", ":focus-visible", ":focus-within", ":visited"})
"""Pseudo-classes that never match in a still picture."""


class _Step(Struct, frozen=True):
    """One compound selector. ``direct`` means that the previous one must be its parent."""

    name: str
    classes: frozenset[str]
    ids: frozenset[str]
    root: bool
    direct: bool

    def fits(self, element: Element, *, outermost: bool) -> bool:
        if self.name not in ("", "*", element.name) or (self.root and not outermost):
            return False
        name = element.attributes.get(("", "id"))
        return self.classes <= element.classes and all(one == name for one in self.ids)


class _StyleRule(Struct, frozen=True):
    steps: tuple[_Step, ...]
    specificity: tuple[int, int, int]
    declarations: tuple[Declaration, ...]


class Unreadable(Exception):
    """Raised with the reason why a style sheet is refused."""


@dataclass
class Sheet:
    """The rules of a drawing, in order."""

    rules: list[_StyleRule] = field(default_factory=list)
    _done: int = 0
    _length: int = 0

    def add(self, text: str) -> None:
        """Parse a style sheet. Raises Unreadable."""
        import tinycss2  # type: ignore[import-untyped]  # it has no type stubs

        self._length += len(text)
        if self._length > MAX_SHEET:
            raise Unreadable(f"<style> has more than {MAX_SHEET} characters")
        for node in tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True):
            if node.type == "at-rule":
                raise Unreadable(f"<style> @{node.at_keyword[:20]} is not accepted")
            if node.type != "qualified-rule":
                raise Unreadable("<style> is not a list of plain rules")
            declared = tuple(_declared(node.content))
            selectors = "".join(_spelled(node.prelude)).split(",")
            for steps in filter(None, map(_steps, selectors)):
                self.rules.append(_StyleRule(steps, _specificity(steps), declared))
        if len(self.rules) > MAX_SELECTORS:
            raise Unreadable(f"<style> has more than {MAX_SELECTORS} selectors")

    def matching(self, path: list[Element]) -> list[Declaration]:
        """Return the declarations for the last element of ``path``, the weakest first.

        ``path`` begins at the outermost element. Raises Unreadable.
        """
        found = [rule for rule in self.rules if self._matches(rule.steps, path)]
        self._count(sum(len(rule.declarations) for rule in found))
        found.sort(key=lambda rule: rule.specificity)
        return [declared for rule in found for declared in rule.declarations]

    def _matches(self, steps: tuple[_Step, ...], path: list[Element]) -> bool:
        """Match the steps from the outermost element. ``ends`` are positions of the last step."""
        if not self._fits(steps[-1], path, len(path) - 1):
            return False
        ends = {-1}
        for step in steps:
            first = min(ends) + 1
            allowed = (
                {end + 1 for end in ends if end + 1 < len(path)}
                if step.direct
                else set(range(first, len(path)))
            )
            ends = {at for at in allowed if self._fits(step, path, at)}
            if not ends:
                return False
        return len(path) - 1 in ends

    def _count(self, number: int) -> None:
        self._done += number
        if self._done > MAX_WORK:
            raise Unreadable("<style> has too many rules for so many elements")

    def _fits(self, step: _Step, path: list[Element], at: int) -> bool:
        self._count(1)
        return step.fits(path[at], outermost=at == 0)


def style_elements(root: Element) -> Iterator[Element]:
    """Yield every ``<style>`` of a drawing, in document order."""
    waiting: list[Element] = [root]
    while waiting:
        element = waiting.pop()
        if element.namespace in ("", SVG) and element.name == "style":
            yield element
        waiting += [c for c in reversed(element.children) if isinstance(c, Element)]


def sheet_text(style: Element) -> str:
    """Return the text of a ``<style>``. Raises Unreadable if it is not CSS for all media."""
    kind = style.attributes.get(("", "type"), "text/css").strip().lower()
    media = style.attributes.get(("", "media"), "all").strip().lower()
    if kind != "text/css" or media not in ("", "all", "screen"):
        raise Unreadable("<style> is not text/css for every reader")
    if any(isinstance(child, Element) for child in style.children):
        raise Unreadable("<style> holds elements")
    return "".join(child for child in style.children if isinstance(child, str))


def _declared(content: object) -> Iterator[Declaration]:
    import tinycss2

    nodes = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    for node in nodes:
        read = declaration(node)
        if read is None:
            raise Unreadable("<style> holds what is not a plain declaration")
        yield read


def _spelled(prelude: list[object]) -> Iterator[str]:
    """Yield the selector as text; a block or a function is refused before it is serialised."""
    for token in prelude:
        if getattr(token, "type", "") not in ("ident", "whitespace", "literal", "hash"):
            raise Unreadable(_SELECTORS)
        yield token.serialize()  # type: ignore[attr-defined]


def _steps(selector: str) -> tuple[_Step, ...] | None:
    """Return the steps of a selector, or None if it never matches. Raises Unreadable."""
    selector = selector.strip()
    if not _SELECTOR.fullmatch(selector):
        raise Unreadable(_SELECTORS)
    steps: list[_Step] = []
    direct = pending = False
    for piece in _PIECE.findall(selector):
        if piece.isspace() or piece.strip() == ">":
            direct, pending = ">" in piece, True
            continue
        step = _step(piece, direct=direct)
        if step is None:
            return None
        steps.append(step)
        direct = pending = False
    if not steps or pending or len(steps) > MAX_STEPS or steps[0].direct:
        raise Unreadable(_SELECTORS)
    return tuple(steps)


def _step(piece: str, *, direct: bool) -> _Step | None:
    match = _COMPOUND.fullmatch(piece)
    parts = _PART.findall(match[2]) if match else []
    states = {part for part in parts if part[0] == ":"}
    if match is None or states - _UNSEEN - {":root"}:
        raise Unreadable(_SELECTORS)
    if states & _UNSEEN:
        return None
    classes = frozenset(part[1:] for part in parts if part[0] == ".")
    ids = frozenset(part[1:] for part in parts if part[0] == "#")
    return _Step(match[1] or "", classes, ids, ":root" in states, direct)


def _specificity(steps: tuple[_Step, ...]) -> tuple[int, int, int]:
    ids = sum(len(step.ids) for step in steps)
    classes = sum(len(step.classes) + step.root for step in steps)
    return ids, classes, sum(step.name not in ("", "*") for step in steps)
