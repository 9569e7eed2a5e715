"""Parts of a Word document for which python-docx has no method.

Names are constants, and what a model wrote is a text or the value of an attribute.
"""

from __future__ import annotations

from typing import Any

from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph
from docx.text.run import Run

_AFTER_BORDERS = ("w:shd", "w:tblLayout", "w:tblCellMar", "w:tblLook", "w:tblCaption")
"""The elements that must follow the borders of a table: the format has an order."""


def element(tag: str, **attributes: str) -> Any:
    """Return an element of WordprocessingML with attributes of the same namespace."""
    made = OxmlElement(f"w:{tag}")
    for name, value in attributes.items():
        made.set(qn(f"w:{name}"), value)
    return made


def set_fonts(properties: Any, name: str) -> None:
    """Use one font for all scripts. The attributes of a theme would win over it."""
    fonts = properties.get_or_add_rFonts()
    fonts.attrib.clear()
    for script in ("ascii", "hAnsi", "cs", "eastAsia"):
        fonts.set(qn(f"w:{script}"), name)


def set_rtl(paragraph: Paragraph) -> None:
    """Let a paragraph run from right to left."""
    paragraph._p.get_or_add_pPr().append(element("bidi"))


def add_bookmark(paragraph: Paragraph, number: int, name: str) -> None:
    """Put an empty bookmark at the end of what a paragraph has so far."""
    paragraph._p.append(bookmark_start(number, name))
    paragraph._p.append(bookmark_end(number))


def bookmark_start(number: int, name: str) -> Any:
    """Return the beginning of a bookmark."""
    return element("bookmarkStart", id=str(number), name=name)


def bookmark_end(number: int) -> Any:
    """Return the end of a bookmark."""
    return element("bookmarkEnd", id=str(number))


def add_field(paragraph: Paragraph, instruction: str, shown: str, style: str | None = None) -> None:
    """Add a field with the text that it has now, such as the number of a caption."""
    paragraph.add_run()._r.append(element("fldChar", fldCharType="begin"))
    code = element("instrText")
    code.text = f" {instruction} "
    paragraph.add_run()._r.append(code)
    paragraph.add_run()._r.append(element("fldChar", fldCharType="separate"))
    paragraph.add_run(shown, style)
    paragraph.add_run()._r.append(element("fldChar", fldCharType="end"))


def add_link(paragraph: Paragraph, **target: str) -> Any:
    """Add an empty link, to a bookmark or to a relationship; runs are appended to it."""
    link = OxmlElement("w:hyperlink")
    for name, value in target.items():
        link.set(qn("r:id" if name == "id" else f"w:{name}"), value)
    paragraph._p.append(link)
    return link


def describe_picture(run: Run, title: str, description: str) -> None:
    """Set the alternative text of the picture that a run holds."""
    for properties in run._r.iter(qn("wp:docPr")):
        properties.set("title", title)
        properties.set("descr", description)


def rule(paragraph: Paragraph) -> None:
    """Draw a line below a paragraph."""
    borders = element("pBdr")
    borders.append(element("bottom", val="single", sz="4", space="1", color="C8CED6"))
    paragraph._p.get_or_add_pPr().append(borders)


def hairlines(table: Table) -> None:
    """Give a table thin lines between its rows, and the whole width."""
    borders = element("tblBorders")
    for side in ("top", "bottom", "insideH"):
        borders.append(element(side, val="single", sz="4", space="0", color="C8CED6"))
    table._tbl.tblPr.insert_element_before(borders, *_AFTER_BORDERS)


def header_row(table: Table) -> None:
    """Mark the first row as the header: it is repeated on each page, and is read as headings."""
    table.rows[0]._tr.get_or_add_trPr().append(element("tblHeader"))


def keep_rows(table: Table) -> None:
    """Never break a row over two pages."""
    for row in table.rows:
        row._tr.get_or_add_trPr().append(element("cantSplit"))


def restarted(document: Any, style: str, start: int) -> int | None:
    """Return a new numbering like that of a list style which begins at ``start``."""
    numbering = document.part.numbering_part.element
    found = document.styles[style].element.find(f".//{qn('w:numId')}")
    if found is None:
        return None
    used = numbering.num_having_numId(int(found.get(qn("w:val"))))
    made = numbering.add_num(used.abstractNumId.val)
    made.add_lvlOverride(ilvl=0).add_startOverride(start)
    number: int = made.numId
    return number


def use_numbering(paragraph: Paragraph, number: int) -> None:
    """Number a paragraph of a list by its own numbering."""
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_ilvl().val = 0
    properties.get_or_add_numId().val = number
