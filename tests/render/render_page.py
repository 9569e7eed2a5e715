"""A parsed page, as a browser without scripts would take it, for assertions about elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "link", "meta", "path", "rect", "line"}


@dataclass(repr=False, eq=False)
class Element:
    """One element with what is in it."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    pieces: list[str | Element] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attributes}>"

    @property
    def text(self) -> str:
        """All text within, in order."""
        return "".join(p if isinstance(p, str) else p.text for p in self.pieces)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """The descendants with this tag and these attributes; ``class_`` is one of the classes."""
        wanted = attributes.pop("class_", None)
        return [
            e
            for e in self.descendants()
            if (not tag or e.tag == tag)
            and all(e.attributes.get(k) == v for k, v in attributes.items())
            and (wanted is None or wanted in e.attributes.get("class", "").split())
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        """The only such descendant."""
        (found,) = self.all(tag, **attributes)
        return found

    def descendants(self) -> list[Element]:
        """Everything within, in document order."""
        return [e for child in self.children for e in (child, *child.descendants())]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self._open = Element("#document", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"repeated attribute in <{tag}>"
        element = Element(tag, {k: v or "" for k, v in attrs}, self._open)
        self._open.children.append(element)
        self._open.pieces.append(element)
        if tag not in VOID:
            self._open = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open = self._open.parent or self.root

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self._open.tag == tag, f"</{tag}> closes <{self._open.tag}>"
        self._open = self._open.parent or self.root

    def handle_data(self, data: str) -> None:
        self._open.pieces.append(data)


def parse(html: str) -> Element:
    """Parse a page strictly: every element is closed where it should be."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser._open is parser.root, f"<{parser._open.tag}> is never closed"
    return parser.root
