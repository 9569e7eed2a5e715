"""Tables of the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from docx.document import Document
from docx.enum.section import WD_ORIENT, WD_SECTION
from docx.enum.table import WD_TABLE_DIRECTION
from docx.table import _Cell
from docx.text.paragraph import Paragraph

from artificer.render.export.word.xml import hairlines, header_row, keep_rows


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
    hairlines(table)
    keep_rows(table)
    if all(cell.tag == "th" for cell in rows[0]):
        header_row(table)
    for row in table.rows[:2]:
        for cell in row.cells:
            cell.paragraphs[0].paragraph_format.keep_with_next = True
    return table


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
    """Begin a page of the other orientation."""
    before = document.sections[-1]
    section = document.add_section(WD_SECTION.NEW_PAGE)
    portrait = before.orientation == WD_ORIENT.PORTRAIT
    section.orientation = WD_ORIENT.LANDSCAPE if portrait else WD_ORIENT.PORTRAIT
    section.page_width, section.page_height = before.page_height, before.page_width
