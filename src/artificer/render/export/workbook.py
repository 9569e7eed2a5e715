"""A grid as an Excel workbook in which numbers are numbers and nothing is a formula."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.binding.source_note import source_note
from artificer.artifacts.table import Cell
from artificer.errors import MissingExtraError
from artificer.plugins import load
from artificer.render.charts.words import Grid
from artificer.render.export.single import grid_of
from artificer.render.language import language_of
from artificer.render.tables import numeric_columns, shown
from artificer.render.text import clean
from artificer.values.base import JsonObject

_WIDEST = 60
_NOTE_WIDTH = 100
_NEVER = datetime(1980, 1, 1)  # noqa: DTZ001  # the format has no time zone
"""A workbook says when it was made; the same rows give the same bytes."""

_SAFE = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}


class _Exact(float):
    """A number that is written with all its digits; the library writes sixteen."""

    def __format__(self, spec: str) -> str:
        return repr(float(self)).removesuffix(".0")


def xlsx_bytes(artifact: Artifact, payload: JsonObject) -> bytes | None:
    """Return the rows of an artifact as a workbook; None if it has none.

    Raises:
        MissingExtraError: the extra ``xlsx`` is not installed.
    """
    rows = grid_of(artifact)
    title = str(getattr(artifact, "title", ""))
    return None if rows is None else workbook(rows, title, _note(payload, title))


def _note(payload: JsonObject, title: str) -> str:
    """Return the sentence that says where the numbers come from, in the language of the title."""
    wrapped = (payload.get(kind) for kind in ("table", "list", "checklist"))
    inner = next((member for member in wrapped if isinstance(member, dict)), payload)
    return source_note(inner, language_of(title).words)


def workbook(grid: Grid, title: str, note: str = "") -> bytes:
    """Return a workbook: a sheet with a header row that stays in view, then the rows.

    A second sheet says where the numbers come from, if there is a ``note``. Each cell is written by
    its own type, so that no text becomes a formula, a link or a number.
    """
    try:
        make = load("xlsxwriter:Workbook")
    except ImportError as error:
        raise MissingExtraError("xlsx", needed_for="Writing a workbook") from error
    out = io.BytesIO()
    book = make(out, _SAFE)
    book.set_properties({"title": clean(title), "author": "Artificer", "created": _NEVER})
    sheet = book.add_worksheet("Data")
    plain = book.add_format({"valign": "top", "text_wrap": True})
    for column, (name, numeric) in enumerate(zip(grid.columns, numeric_columns(grid), strict=True)):
        side = "right" if numeric else "left"
        head = book.add_format({"bold": True, "bottom": 1, "align": side, "text_wrap": True})
        _write_text(sheet, 0, column, name, head)
        cells = [row[column] for row in grid.rows]
        longest = max(map(len, (name, *map(shown, cells))), default=0)
        sheet.set_column(column, column, min(longest, _WIDEST) + 2)
        for row, cell in enumerate(cells, 1):
            _write(sheet, row, column, cell, plain)
    sheet.freeze_panes(1, 1 if grid.row_headed else 0)
    sheet.repeat_rows(0)
    sheet.fit_to_pages(1, 0)
    if note:
        about = book.add_worksheet("Source")
        about.set_column(0, 0, _NOTE_WIDTH)
        _write_text(about, 0, 0, note, plain)
    book.close()
    return out.getvalue()


def _write(sheet: Any, row: int, column: int, cell: Cell, plain: Any) -> None:
    if cell is None:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(row, column, cell)
    elif isinstance(cell, (int, float)):
        sheet.write_number(row, column, _Exact(cell))
    else:
        _write_text(sheet, row, column, cell, plain)


def _write_text(sheet: Any, row: int, column: int, text: str, look: Any) -> None:
    """Write a text as it is. The library takes one that ``<r>`` encloses for its own markup."""
    text = clean(text)
    if text.startswith("<r>") and text.endswith("</r>"):
        sheet.write_rich_string(row, column, "<", "r", text[2:], look)
    else:
        sheet.write_string(row, column, text, look)
