"""Footnotes: Word puts each at the foot of the page that refers to it, and numbers them itself.

The library has no footnotes, so this writes their part of the document.
"""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.oxml.table import CT_Tbl
from docx.parts.story import StoryPart
from docx.shared import Cm, Pt
from docx.styles.style import ParagraphStyle
from docx.table import Table
from docx.text.paragraph import Paragraph

from artificer.render.export.tree import classes, remove
from artificer.render.export.word.styles import TEXT_WIDTH
from artificer.render.export.word.xml import element

STYLE, MARK = "footnote text", "footnote reference"

_SEPARATORS = {"-1": "separator", "0": "continuationSeparator"}
"""The lines above footnotes: each footnotes part begins with them."""


def notes_of(main: Element) -> dict[str, Element]:
    """Return the footnotes by their ids, if Word would number them as the page does.

    It does unless a footnote is referred to by another one first: those stay where they are.
    """
    found = {
        note.get("id", ""): note
        for section in main.iter("section")
        if "footnotes" in classes(section)
        for note in section.iterfind("ol/li")
    }
    return found if list(dict.fromkeys(_referred(main))) == list(found) else {}


def _referred(element: Element) -> list[str]:
    """The ids of footnotes that the text refers to, without those that footnotes refer to."""
    if element.tag == "section" and "footnotes" in classes(element):
        return []
    if element.tag == "sup" and "noteref" in classes(element):
        return [link.get("href", "")[1:] for link in element.iter("a")]
    return [place for child in element for place in _referred(child)]


def without_ways_back(note: Element) -> None:
    """Remove the links to the text: a reader of Word has them."""
    for parent in note.iter():
        for child in list(parent):
            if "backs" in classes(child):
                remove(parent, child)


class Footnotes:
    """The part of a document that holds its footnotes; made with the first one."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._part: StoryPart | None = None
        self._count = 0

    def add(self, paragraph: Paragraph) -> FootnoteBody:
        """Refer to a new footnote at the end of a paragraph, and return its body."""
        if self._part is None:
            self._part = _made(self._document)
        self._count += 1
        number = str(self._count)
        run = paragraph.add_run(style=MARK)
        run._r.append(element("footnoteReference", id=number))
        made = element("footnote", id=number)
        self._part.element.append(made)
        return FootnoteBody(made, self._part)


class FootnoteBody:
    """The text of a footnote, to which paragraphs are added."""

    def __init__(self, made: Any, part: StoryPart) -> None:
        self._made = made
        self._part = part

    def add_paragraph(self, style: str) -> Paragraph:
        """Return the next paragraph; the first one begins with the number."""
        paragraph = Paragraph(OxmlElement("w:p"), self._part)
        self._made.append(paragraph._p)
        paragraph.style = style
        if len(self._made) == 1:
            paragraph.add_run(style=MARK)._r.append(element("footnoteRef"))
            paragraph.add_run(" ")
        return paragraph

    def add_table(self, rows: int, columns: int) -> Table:
        """Return a table within the footnote; a paragraph has to follow it."""
        table = CT_Tbl.new_tbl(rows, columns, TEXT_WIDTH)
        self._made.append(table)
        return Table(table, self._part)

    def close(self) -> None:
        """End with a paragraph, as a footnote must."""
        if not len(self._made) or self._made[-1].tag != qn("w:p"):
            self.add_paragraph(STYLE)


def _made(document: Document) -> StoryPart:
    _add_styles(document)
    root = parse_xml(f"<w:footnotes {nsdecls('w', 'r')}/>")
    rules = element("footnotePr")
    for number, kind in _SEPARATORS.items():
        line = element("footnote", type=kind, id=number)
        paragraph = OxmlElement("w:p")
        run = OxmlElement("w:r")
        run.append(OxmlElement(f"w:{kind}"))
        paragraph.append(run)
        line.append(paragraph)
        root.append(line)
        rules.append(element("footnote", id=number))
    compatibility = document.settings.element.find(qn("w:compat"))
    if compatibility is not None:
        compatibility.addprevious(rules)
    package = document.part.package
    part = StoryPart(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, root, package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    return part


def _add_styles(document: Document) -> None:
    text = document.styles.add_style(STYLE, WD_STYLE_TYPE.PARAGRAPH)
    assert isinstance(text, ParagraphStyle)
    text.base_style = document.styles["Normal"]
    text.font.size = Pt(8.5)
    text.paragraph_format.space_after = Pt(2)
    text.paragraph_format.line_spacing = 1.1
    text.paragraph_format.left_indent, text.paragraph_format.first_line_indent = Cm(0.4), Cm(-0.4)
    mark = document.styles.add_style(MARK, WD_STYLE_TYPE.CHARACTER)
    mark.font.superscript = True
