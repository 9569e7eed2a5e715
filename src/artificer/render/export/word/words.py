"""The running text of a paragraph: emphasis, code, links, citations, line breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol
from xml.etree.ElementTree import Element

from docx.opc.constants import RELATIONSHIP_TYPE
from docx.text.paragraph import Paragraph
from docx.text.run import Run
from msgspec import Struct
from msgspec.structs import replace

from artificer.render.export.paper import direction
from artificer.render.export.tree import classes
from artificer.render.export.word.styles import CODE, LINK
from artificer.render.export.word.xml import add_bookmark, add_link, set_fonts
from artificer.render.text import clean

_SPACES = re.compile(r"[ \t\r\n\f]+")
_SAFE = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


class LinkPlaces(Protocol):
    """Knows what fragment ids of the page are in the document."""

    def bookmark(self, place: str) -> str | None:
        """Return the name of the bookmark for a fragment id, if the document has one."""

    def footnote(self, paragraph: Paragraph, place: str) -> bool:
        """Refer to a footnote at the end of a paragraph, if the document has it."""


class Look(Struct, frozen=True):
    """How a run of text looks, and where it leads."""

    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    raised: bool = False
    lowered: bool = False
    href: str = ""


PLAIN = Look()

_LOOKS: dict[str, dict[str, bool]] = {
    "strong": {"bold": True},
    "b": {"bold": True},
    "em": {"italic": True},
    "i": {"italic": True},
    "s": {"strike": True},
    "del": {"strike": True},
    "code": {"code": True},
    "kbd": {"code": True},
    "sup": {"raised": True},
    "sub": {"lowered": True},
}
"""The effect of an element on its text; any other changes nothing."""


class Words:
    """Writes running text into one paragraph, with white space as a page shows it."""

    def __init__(self, paragraph: Paragraph, places: LinkPlaces) -> None:
        self._paragraph = paragraph
        self._places = places
        self._is_fresh = not paragraph.text

    def add(self, piece: str | Element, look: Look = PLAIN, *, exact: bool = False) -> None:
        """Add a text or an inline element. ``exact`` keeps every space and line end."""
        if isinstance(piece, str):
            self._text(piece, look, exact=exact)
            return
        if piece.tag == "br":
            self._paragraph.add_run().add_break()
            self._is_fresh = True
            return
        if "noteref" in classes(piece) and self._is_footnote(piece):
            self._is_fresh = False
            return
        inner = replace(look, **_LOOKS.get(piece.tag, {}))
        if piece.tag == "a":
            if (place := piece.get("id")) and (name := self._places.bookmark(place)):
                add_bookmark(self._paragraph, int(name.rpartition("_")[2]), name)
            inner = replace(inner, href=piece.get("href", ""))
        for part in pieces(piece):
            self.add(part, inner, exact=exact)

    def _is_footnote(self, piece: Element) -> bool:
        link = piece.find("a")
        place = "" if link is None else link.get("href", "")[1:]
        return self._places.footnote(self._paragraph, place)

    def _text(self, text: str, look: Look, *, exact: bool) -> None:
        if not exact:
            text = _SPACES.sub(" ", text)
            text = text.lstrip(" ") if self._is_fresh else text
        if not text:
            return
        self._is_fresh = not exact and text.endswith(" ")
        run = self._paragraph.add_run(clean(text))
        _apply(run, look)
        if look.href:
            self._link(run, look.href)

    def _link(self, run: Run, href: str) -> None:
        """Move a run into a link, if its target is a place here or on the web."""
        if href.startswith("#"):
            bookmark = self._places.bookmark(href[1:])
            link = bookmark and add_link(self._paragraph, anchor=bookmark)
        elif _SAFE.match(href):
            kind = RELATIONSHIP_TYPE.HYPERLINK
            target = self._paragraph.part.relate_to(href, kind, is_external=True)
            link = add_link(self._paragraph, id=target)
        else:
            link = None
        if link is not None and link != "":
            run.font.color.rgb, run.font.underline = LINK, True
            link.append(run._r)


def pieces(element: Element) -> Iterator[str | Element]:
    """Yield what an element holds, in order: texts and elements."""
    if element.text:
        yield element.text
    for child in element:
        yield child
        if child.tail:
            yield child.tail


def _apply(run: Run, look: Look) -> None:
    font = run.font
    font.bold, font.italic = look.bold or None, look.italic or None
    font.strike = look.strike or None
    if look.raised:  # to unset one unsets the other
        font.superscript = True
    elif look.lowered:
        font.subscript = True
    if look.code:
        set_fonts(run._r.get_or_add_rPr(), CODE)
        font.no_proof = True
    if direction(run.text) == "rtl":
        font.rtl = True
