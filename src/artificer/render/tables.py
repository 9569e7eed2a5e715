"""A grid as the page shows it, and as a CSV file inside a link."""

from __future__ import annotations

import re
from urllib.parse import quote

from msgspec import Struct

from artificer.artifacts.checklist import Checklist
from artificer.artifacts.table import Cell, Table
from artificer.render.charts.words import Grid
from artificer.render.spreadsheet import to_csv
from artificer.render.text import figure

_NUMERIC = re.compile(
    r"[(~≈<>]?\s?[+\-−±]?\s?[$€£¥]?\s?\d[\d.,  ]*\s?[%‰°×]?\s?[a-zA-Zµ€$£¥/]{0,5}\)?"
)
"""Text that counts as a number: digits with a sign, a currency or a short unit."""

_LONG = 40
"""Columns with longer text than this get more width."""


class ColumnView(Struct, frozen=True):
    """A column's heading, and the CSS class of its cells: numbers, long text or none."""

    name: str
    style: str


class CellView(Struct, frozen=True):
    """A cell as it is shown; None for an empty one. ``heads`` its row, if it is a heading."""

    text: str | None
    numeric: bool
    heads: bool


class TableView(Struct, frozen=True):
    """A grid as its template reads it."""

    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[CellView, ...], ...]


class CsvFile(Struct, frozen=True):
    """A link that saves a grid as ``name``.csv, without any script. ``data`` is percent-encoded."""

    name: str
    what: str
    data: str


def table_view(grid: Grid) -> TableView:
    """Return the grid as the page shows it."""
    numeric = numeric_columns(grid)
    columns = (
        ColumnView(name, _column_class(grid, index, n))
        for index, (name, n) in enumerate(zip(grid.columns, numeric, strict=True))
    )
    rows = (
        tuple(
            _cell(cell, n, heads=index == 0 and grid.row_headed and not numeric[0])
            for index, (cell, n) in enumerate(zip(row, numeric, strict=True))
        )
        for row in grid.rows
    )
    return TableView(tuple(columns), tuple(rows))


def table_grid(table: Table) -> Grid:
    """Return the table's cells. The first column becomes row headings if its names are unique."""
    first = [row[0] for row in table.rows]
    heads = len(set(first)) == len(first) and all(isinstance(c, str) and c for c in first)
    return Grid(table.columns, table.rows, row_headed=heads and len(table.columns) > 1)


def tally(checklist: Checklist) -> str:
    """Return the progress of a checklist, such as "2 of 3 done"."""
    done = sum(item.checked for item in checklist.items)
    return f"{done} of {len(checklist.items)} done"


def csv_file(grid: Grid, name: str, what: str) -> CsvFile:
    """Return the link that saves the grid as ``name``.csv."""
    return CsvFile(name, what, quote(to_csv(grid), safe=""))


def numeric_columns(grid: Grid) -> list[bool]:
    """Return for each column whether it holds numbers and is therefore right-aligned."""
    return [_is_numeric([row[i] for row in grid.rows]) for i in range(len(grid.columns))]


def shown(cell: Cell) -> str:
    """Return the cell as text for people."""
    if cell is None:
        return "—"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return figure(cell) if isinstance(cell, int | float) else cell


def _cell(cell: Cell, numeric: bool, *, heads: bool) -> CellView:
    return CellView(None if cell is None else shown(cell), numeric, heads)


def _column_class(grid: Grid, index: int, numeric: bool) -> str:
    """Return the CSS class of a column: numbers, long text, or none."""
    if numeric:
        return "num"
    longest = max((len(shown(row[index])) for row in grid.rows), default=0)
    return "long" if longest > _LONG else ""


def _is_numeric(cells: list[Cell]) -> bool:
    """Return whether a column holds at least one number, and otherwise only empty cells."""
    kept = [cell for cell in cells if cell is not None and cell not in ("", "—", "-", "–")]
    return bool(kept) and all(
        not isinstance(cell, bool)
        and (isinstance(cell, int | float) or bool(_NUMERIC.fullmatch(cell)))
        for cell in kept
    )
