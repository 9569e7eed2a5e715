"""The report, block by block: each element of the page for paper becomes a part of the document.

One table says what becomes of an element. An element that is not in it is transparent, so no text
is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element

from docx.document import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.text.paragraph import Paragraph
from msgspec import Struct
from msgspec.structs import replace

from artificer.render.export.exported import ExportStep
from artificer.render.export.tree import classes, text_of
from artificer.render.export.word import pictures, tables
from artificer.render.export.word.notes import (
    MARK,
    STYLE,
    Footnotes,
    notes_of,
    without_ways_back,
)
from artificer.render.export.word.words import PLAIN, Look, Words, pieces
from artificer.render.export.word.xml import (
    add_bookmark,
    add_field,
    bookmark_end,
    bookmark_start,
    restarted,
    rule,
    set_rtl,
    use_numbering,
)
from artificer.render.report import ArtifactName, Report

_SMALL = frozenset(("note", "see", "dateline", "source", "words"))
"""Paragraphs of these classes are in small type."""

_RIGHT = (WD_ALIGN_PARAGRAPH.RIGHT, WD_ALIGN_PARAGRAPH.LEFT)
"""On the right of the page: Word means the beginning of a line by left, which may be there."""

_DEEPEST = 3
"""Word's list styles have three levels; deeper lists look like the third."""


class Context(Struct, frozen=True):
    """Where a block is written: into the document or a cell, in which style, of which artifact."""

    into: Any
    style: str = "Normal"
    look: Look = PLAIN
    depth: int = 0
    numbering: int | None = None
    name: ArtifactName | None = None
    is_rtl: bool = False
    is_right: bool = False


class WordWriter:
    """Writes one report into one document."""

    def __init__(self, document: Document, report: Report, main: Element, step: ExportStep) -> None:
        self.document = document
        self.report = report
        self._step = step
        self._anchors = {name.anchor: name for name in report.names.values()}
        self._bookmarks: dict[str, str] = {}
        self._drawn = 0
        self._footnotes = Footnotes(document)
        self.notes = notes_of(main)
        """Footnotes of the page that are footnotes of the document."""
        self._referred: set[str] = set()
        self._is_in_note = False

    def flow(self, element: Element, context: Context) -> None:
        """Write what an element holds: running text becomes paragraphs, blocks become blocks."""
        words: Words | None = None
        for piece in pieces(element):
            if isinstance(piece, Element) and _is_block(piece):
                words = None
                self.block(piece, context)
            elif words is None:
                if isinstance(piece, Element) or piece.strip():
                    words = Words(self.paragraph(context), self)
                    words.add(piece, context.look)
            else:
                words.add(piece, context.look)

    def block(self, element: Element, context: Context) -> None:
        """Write one block element."""
        if (direction := element.get("dir")) is not None:
            context = replace(context, is_rtl=direction == "rtl")
        if name := self._anchors.get(element.get("id", "")):
            context = replace(context, name=name)
        if context.name is None and (place := element.get("id")):
            mark = self.paragraph(replace(context, style="Small", numbering=None))
            mark.paragraph_format.keep_with_next = True
            add_bookmark(mark, *self._place(place))
        _WRITERS.get(element.tag, WordWriter.flow)(self, element, context)

    def paragraph(self, context: Context) -> Paragraph:
        """Begin a paragraph."""
        made: Paragraph = context.into.add_paragraph(style=context.style)
        if context.is_rtl:
            set_rtl(made)
        if context.numbering is not None:
            use_numbering(made, context.numbering)
        if context.is_right:
            made.alignment = _RIGHT[context.is_rtl]
        return made

    def bookmark(self, place: str) -> str | None:
        """Return the name of the bookmark for a fragment id: Word allows 40 plain characters."""
        return self._bookmarks.setdefault(place, f"place_{len(self._bookmarks) + 1}")

    def footnote(self, paragraph: Paragraph, place: str) -> bool:
        """Refer to a footnote: the first time with its text, then by its number."""
        note = self.notes.get(place)
        if note is None or self._is_in_note:
            return False  # a footnote has no footnotes
        number, name = self._place(f"{place}-mark")
        if place in self._referred:
            number_shown = str(list(self.notes).index(place) + 1)
            add_field(paragraph, f"NOTEREF {name} \\f \\h", number_shown, MARK)
            return True
        self._referred.add(place)
        paragraph._p.append(bookmark_start(number, name))
        body = self._footnotes.add(paragraph)
        paragraph._p.append(bookmark_end(number))
        self._is_in_note = True
        mark_place(note)
        without_ways_back(note)
        self.flow(note, Context(body, style=STYLE, is_rtl=note.get("dir") == "rtl"))
        body.close()
        self._is_in_note = False
        return True

    def caption(self, element: Element, context: Context) -> None:
        """Write a caption; its number is a field, so that Word can list figures and tables."""
        name = context.name
        paragraph = self.paragraph(replace(context, style="Caption", look=PLAIN))
        words = Words(paragraph, self)
        if name is not None:
            add_bookmark(paragraph, *self._place(name.anchor))
        for piece in pieces(element):
            if isinstance(piece, Element) and "number" in classes(piece):
                label, _, number = text_of(piece).strip().rpartition(" ")
                if number.isdecimal() and label:
                    paragraph.add_run(f"{label} ")
                    add_field(paragraph, f"SEQ {label} \\* ARABIC", number)
                    paragraph.add_run(". ")
                    continue
            words.add(piece)

    def picture(self, element: Element, context: Context) -> None:
        """Write a drawing or an image, described for those who do not see it."""
        self._step("drawing", self._drawn, 0)
        self._drawn += 1
        artifact = self.report.artifacts.get(context.name.key) if context.name else None
        paragraph = self.paragraph(replace(context, numbering=None))
        pictures.add(paragraph, element, artifact, self.report.language)

    def _place(self, place: str) -> tuple[int, str]:
        name = self.bookmark(place) or ""
        return int(name.rpartition("_")[2]), name


def _heading(writer: WordWriter, element: Element, context: Context) -> None:
    writer.flow(element, replace(context, style=f"Heading {element.tag[1]}"))


def _caption(writer: WordWriter, element: Element, context: Context) -> None:
    writer.caption(element, context)


def _paragraph(writer: WordWriter, element: Element, context: Context) -> None:
    found = classes(element)
    if "caption" in found:
        writer.caption(element, context)
    elif found & _SMALL and context.style == "Normal":
        writer.flow(element, replace(context, style="Small"))
    else:
        writer.flow(element, context)


def _code(writer: WordWriter, element: Element, context: Context) -> None:
    paragraph = writer.paragraph(replace(context, style="Code", is_rtl=False))
    Words(paragraph, writer).add(text_of(element).rstrip("\n"), exact=True)


def _quote(writer: WordWriter, element: Element, context: Context) -> None:
    writer.flow(element, replace(context, style="Quote"))


def _small(writer: WordWriter, element: Element, context: Context) -> None:
    rule(writer.paragraph(context))
    writer.flow(element, replace(context, style="Small"))


def _aside(writer: WordWriter, element: Element, context: Context) -> None:
    rule(writer.paragraph(context))
    writer.flow(element, context)
    rule(writer.paragraph(context))


def _rule(writer: WordWriter, element: Element, context: Context) -> None:
    rule(writer.paragraph(context))


def _term(writer: WordWriter, element: Element, context: Context) -> None:
    writer.flow(element, replace(context, look=replace(context.look, bold=True)))


def _meaning(writer: WordWriter, element: Element, context: Context) -> None:
    style = context.style if context.style == "Small" else "List Continue"
    writer.flow(element, replace(context, style=style))


def _list(writer: WordWriter, element: Element, context: Context) -> None:
    depth = min(context.depth + 1, _DEEPEST)
    is_numbered = element.tag == "ol"
    suffix = "" if depth == 1 else f" {depth}"
    style = f"List {'Number' if is_numbered else 'Bullet'}{suffix}"
    if any("tick" in classes(found) for found in element.iter()):
        style, is_numbered = "List Continue", False
    start = int(element.get("start", "1")) if element.get("start", "1").isdecimal() else 1
    numbering = restarted(writer.document, style, start) if is_numbered else None
    for item in element:
        inner = replace(context, style=style, depth=depth, numbering=numbering)
        _item(writer, item, inner, f"List Continue{suffix}")


def _item(writer: WordWriter, item: Element, context: Context, continued: str) -> None:
    """Write an item: its first paragraph has the bullet or number, the others continue below it."""
    mark_place(item)
    blocks = [child for child in item if _is_block(child) and child.tag not in ("ul", "ol")]
    if len(blocks) < 2:
        writer.flow(item, replace(context, is_rtl=item.get("dir") == "rtl" or context.is_rtl))
        return
    after = replace(context, style=continued, numbering=None)
    for number, block in enumerate(item):
        writer.block(block, after if number else context)


def mark_place(item: Element) -> None:
    """Put a mark that links lead to at the beginning of an item's words."""
    if place := item.get("id"):
        first = item[0] if len(item) and _is_block(item[0]) else item
        mark = Element("a", {"id": place})
        mark.tail, first.text = first.text, None
        first.insert(0, mark)


def _table(writer: WordWriter, element: Element, context: Context) -> None:
    for caption in element.findall("caption"):
        writer.caption(caption, context)
    rows = [row for row in element.iter("tr") if len(row)]
    style = "Small cell" if "small" in classes(element) else "Cell"
    for cell, made, is_head in tables.cells_of(context.into, rows, is_rtl=context.is_rtl):
        into = tables.FilledCell(made, style)
        look = Look(bold=True) if is_head else PLAIN
        inner = Context(into, style=style, look=look, is_right="num" in classes(cell))
        writer.block(cell, inner)
        into.close()
    if context.into is writer.document:
        writer.paragraph(replace(context, style="Small"))  # two tables in a row would be one


def _div(writer: WordWriter, element: Element, context: Context) -> None:
    """Write a block; one with a wide table has its own page, turned to the side."""
    is_turned = "landscape" in classes(element) and context.into is writer.document
    if is_turned:
        tables.turn(writer.document)
    writer.flow(element, context)
    if is_turned:
        tables.turn(writer.document)


def _section(writer: WordWriter, element: Element, context: Context) -> None:
    """Write a section; footnotes of the document are written where they are referred to."""
    if not ("footnotes" in classes(element) and writer.notes):
        writer.flow(element, context)


def _picture(writer: WordWriter, element: Element, context: Context) -> None:
    writer.picture(element, context)


def _nothing(writer: WordWriter, element: Element, context: Context) -> None:
    pass


_WRITERS: dict[str, Callable[[WordWriter, Element, Context], None]] = {
    **{f"h{level}": _heading for level in range(1, 7)},
    "aside": _aside,
    "blockquote": _quote,
    "caption": _caption,
    "dd": _meaning,
    "div": _div,
    "dt": _term,
    "figcaption": _caption,
    "footer": _small,
    "head": _nothing,
    "hr": _rule,
    "img": _picture,
    "ol": _list,
    "p": _paragraph,
    "pre": _code,
    "section": _section,
    "summary": _nothing,
    "svg": _picture,
    "table": _table,
    "ul": _list,
}

_BLOCKS = frozenset((*_WRITERS, "article", "details", "dl", "figure", "li", "main"))


def _is_block(element: Element) -> bool:
    """Whether an element stands for itself, or holds one that does."""
    return element.tag in _BLOCKS or any(_is_block(child) for child in element)
