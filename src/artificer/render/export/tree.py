"""Our own page as a tree of elements, and such a tree as HTML again.

The parser expects what a page of ours is: every element is closed, and names are in lower case or
have one that HTML restores (``viewBox``).
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from xml.etree.ElementTree import Element

VOID = frozenset(("area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"))
_RAW = frozenset(("script", "style"))


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in (element.tag for element in self._open[1:]):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        parent = self._open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        elif parent.tag == "pre" and not parent.text:
            parent.text = data.removeprefix("\n")
        else:
            parent.text = (parent.text or "") + data


def parse(page: str) -> Element:
    """Return the page below an element ``document``."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    return parser.root


def written(element: Element) -> str:
    """Return an element as HTML, without what follows it."""
    return "".join(_pieces(element))


def text_of(element: Element) -> str:
    """Return all text of an element."""
    return "".join(element.itertext())


def classes(element: Element) -> set[str]:
    """Return the classes of an element."""
    return set(element.get("class", "").split())


def remove(parent: Element, child: Element) -> None:
    """Remove a child. The text that follows it stays."""
    index = list(parent).index(child)
    tail = child.tail or ""
    if index:
        parent[index - 1].tail = (parent[index - 1].tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    child.tail = None
    parent.remove(child)


def _pieces(element: Element) -> Iterator[str]:
    attributes = (f' {name}="{escape(value)}"' for name, value in element.attrib.items())
    yield f"<{element.tag}{''.join(attributes)}>"
    if element.tag in VOID:
        return
    text = element.text or ""
    if element.tag == "pre" and text.startswith("\n"):
        yield "\n"
    yield text if element.tag in _RAW else escape(text, quote=False)
    for child in element:
        yield from _pieces(child)
        yield escape(child.tail or "", quote=False)
    yield f"</{element.tag}>"
