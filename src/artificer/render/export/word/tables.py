"""Tables of the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from docx.document import Document
from docx.enum.section import WD_ORIENT, WD_SECTION
from docx.enum.table import WD_TABLE_DIRECTION
from docx.oxml.ns import qn
from docx.shared import Emu
from docx.table import _Cell
from docx.text.paragraph import Paragraph

from artificer.render.export.tree import classes, text_of
from artificer.render.export.word.xml import hairlines, header_row, keep_rows

_PAD, _LONGEST, _LONG, _LINE = 2.0, 24, 60, 160
"""Characters: next to a text, of a word that is kept whole, of a text on one line, of a line."""


def cells_of(
    into: Any, rows: list[Element], *, is_rtl: bool
) -> Iterator[tuple[Element, _Cell, bool]]:
    """Make a table. Yield each cell of the page with its own, and whether it is a heading."""
    columns = max((sum(map(_span, row)) for row in rows), default=0)
    if not columns:
        return
    table = _made(into, rows, columns)
    if is_rtl:
        table.table_direction = WD_TABLE_DIRECTION.RTL
    for row, made in zip(rows, table.rows, strict=True):
        cells = made.cells
        column = 0
        for element in row:
            cell = cells[column]
            last = min(column + _span(element), columns) - 1
            if last > column:
                cell = cell.merge(cells[last])
            yield element, cell, element.tag == "th" and element.get("scope") != "row"
            column = last + 1


def _made(into: Any, rows: list[Element], columns: int) -> Any:
    table = into.add_table(len(rows), columns)
    table.autofit = True
    if isinstance(into, Document):
        room = _room(into)
        _set_widths(table, [int(room * share) for share in shares(rows, columns)])
    hairlines(table)
    keep_rows(table)
    if all(cell.tag == "th" for cell in rows[0]):
        header_row(table)
    for row in table.rows[:2]:
        for cell in row.cells:
            cell.paragraphs[0].paragraph_format.keep_with_next = True
    return table


def _room(document: Document) -> int:
    section = document.sections[-1]
    margins = (section.left_margin or 0) + (section.right_margin or 0)
    return (section.page_width or 0) - margins


def _set_widths(table: Any, widths: list[int]) -> None:
    table.autofit = False
    for column, width in zip(table.columns, widths, strict=True):
        column.width = Emu(width)
    for row in table.rows:
        for cell, width in zip(row.cells, widths, strict=True):
            cell.width = Emu(width)


def shares(rows: list[Element], columns: int) -> list[float]:
    """Return the part of the width that each column gets, by the length of its texts.

    Each gets what its longest word or number needs, and the rest goes to those with more text.
    """
    least, whole_texts = [1.0] * columns, [1.0] * columns
    for row in rows:
        for index, cell in enumerate(row if len(row) == columns else ()):
            text = text_of(cell)
            words = [text] if "num" in classes(cell) else text.split()
            longest = max(map(len, words), default=0) * (1.15 if cell.tag == "th" else 1)
            least[index] = max(least[index], min(longest, _LONGEST) + _PAD)
            whole_texts[index] = max(whole_texts[index], min(len(text), _LONG) + _PAD)
    rest = max(0.0, _LINE - sum(least))
    more = [max(0.0, whole - word) for whole, word in zip(whole_texts, least, strict=True)]
    part = min(1.0, rest / (sum(more) or 1))
    widths = [word + part * extra for word, extra in zip(least, more, strict=True)]
    return [width / sum(widths) for width in widths]


class FilledCell:
    """A cell that paragraphs are added to: it begins with an empty one, which is used first."""

    def __init__(self, cell: _Cell, style: str) -> None:
        self._cell = cell
        self._style = style
        self._unused: Paragraph | None = cell.paragraphs[0]

    def add_paragraph(self, style: str) -> Paragraph:
        """Return the next paragraph."""
        paragraph, self._unused = self._unused, None
        if paragraph is None:
            paragraph = self._cell.add_paragraph()
        paragraph.style = style
        return paragraph

    def add_table(self, rows: int, columns: int) -> Any:
        """Return a table within the cell."""
        return self._cell.add_table(rows, columns)

    def close(self) -> None:
        """Give an empty cell its style."""
        if self._unused is not None:
            self.add_paragraph(self._style)


def _span(cell: Element) -> int:
    span = cell.get("colspan", "1")
    return min(max(int(span), 1), 100) if span.isdecimal() else 1


def turn(document: Document) -> None:
    """Begin a page of the other orientation. Headings right before it go with it."""
    before = document.sections[-1]
    portrait = before.orientation == WD_ORIENT.PORTRAIT
    headings = _last_headings(document) if portrait else []
    section = document.add_section(WD_SECTION.NEW_PAGE)
    for heading in headings:
        document.element.body[-1].addprevious(heading)
    section.orientation = WD_ORIENT.LANDSCAPE if portrait else WD_ORIENT.PORTRAIT
    section.page_width, section.page_height = before.page_height, before.page_width


def _last_headings(document: Document) -> list[Any]:
    found: list[Any] = []
    for paragraph in reversed(document.paragraphs):
        style = paragraph.style.name if paragraph.style is not None else ""
        is_place = not paragraph.text and paragraph._p.find(qn("w:bookmarkStart")) is not None
        is_last = paragraph._p.getnext() is (found[0] if found else document.element.body[-1])
        if not is_last or not ((style or "").startswith("Heading") or is_place):
            break
        found.insert(0, paragraph._p)
    return found
