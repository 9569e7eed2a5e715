"""A grid as the page shows it, and as a CSV file inside a link."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import bidirectional
from urllib.parse import quote

from msgspec import Struct

from artificer.artifacts.checklist import Checklist
from artificer.artifacts.table import Cell, Table
from artificer.render.charts.words import Grid
from artificer.render.language import Language, language
from artificer.render.spreadsheet import to_csv

_NUMERIC = re.compile(
    r"[(~≈<>]?\s?[+\-−±]?\s?[$€£¥]?\s?\d[\d.,  ]*\s?[%‰°×]?\s?[a-zA-Zµ€$£¥/]{0,5}\)?"
)
"""Text that counts as a number: digits with a sign, a currency or a short unit."""

_ABSENT = frozenset(("", "—", "-", "–", "n/a", "na", "k. a.", "n. a.", "s/o", "…"))
"""Text that stands for no value, and does not make words of a column of numbers."""

_GROUP_FROM = 10_000
"""All numbers of a column are grouped if one of them has five or more digits."""

_LONG = 40
"""Columns with longer text than this get more width."""


class ColumnView(Struct, frozen=True):
    """A column's heading, and the CSS class of its cells: numbers, long text or none."""

    name: str
    style: str


class CellView(Struct, frozen=True):
    """A cell as it is shown; None for an empty one.

    ``pad`` is what the number lacks to as many decimals as the longest in its column: invisible,
    it puts the points below each other. ``heads`` says whether the cell is its row's heading.
    """

    text: str | None
    numeric: bool
    heads: bool
    pad: str = ""


class TableView(Struct, frozen=True):
    """A grid as its template reads it."""

    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[CellView, ...], ...]
    direction: str


class CsvFile(Struct, frozen=True):
    """A link that saves a grid as ``name``.csv, without any script. ``data`` is percent-encoded."""

    name: str
    what: str
    data: str


def table_view(grid: Grid, ui: Language | None = None) -> TableView:
    """Return the grid as the page shows it, in the page's language; by default in English."""
    ui = ui or language("en")
    numeric = numeric_columns(grid)
    columns = (
        ColumnView(name, _column_class(grid, index, n, ui))
        for index, (name, n) in enumerate(zip(grid.columns, numeric, strict=True))
    )
    views = [
        _cells(cells, n, ui, heads=not index and grid.row_headed and not n)
        for index, n in enumerate(numeric)
        for cells in ([row[index] for row in grid.rows],)
    ]
    return TableView(tuple(columns), tuple(zip(*views, strict=True)), direction(grid.columns))


def table_grid(table: Table) -> Grid:
    """Return the table's cells. The first column becomes row headings if its names are unique."""
    first = [row[0] for row in table.rows]
    heads = len(set(first)) == len(first) and all(isinstance(c, str) and c for c in first)
    return Grid(table.columns, table.rows, row_headed=heads and len(table.columns) > 1)


def tally(checklist: Checklist, ui: Language) -> str:
    """Return the progress of a checklist, such as "2 of 3 done"."""
    return ui.say("done", sum(item.checked for item in checklist.items), len(checklist.items))


def csv_file(grid: Grid, name: str, what: str) -> CsvFile:
    """Return the link that saves the grid as ``name``.csv."""
    return CsvFile(name, what, quote(to_csv(grid), safe=""))


def numeric_columns(grid: Grid) -> list[bool]:
    """Return for each column whether it holds numbers and is therefore right-aligned."""
    return [_is_numeric([row[i] for row in grid.rows]) for i in range(len(grid.columns))]


def shown(cell: Cell, ui: Language | None = None) -> str:
    """Return the cell as text for people, by default in English."""
    ui = ui or language("en")
    if cell is None:
        return "—"
    if isinstance(cell, bool):
        return ui.say("yes" if cell else "no")
    return ui.numbers.figure(cell) if isinstance(cell, (int, float)) else cell


def _cells(cells: list[Cell], numeric: bool, ui: Language, *, heads: bool) -> list[CellView]:
    """Return the cells of one column, all numbers in one style."""
    numbers = [c for c in cells if isinstance(c, (int, float)) and not isinstance(c, bool)]
    grouped = any(abs(number) >= _GROUP_FROM for number in numbers)
    texts = [None if cell is None else _in_column(cell, grouped, ui) for cell in cells]
    point = ui.numbers.point
    decimals = [text.partition(point)[2] if text else "" for text in texts]
    aligned = numeric and len(numbers) == sum(c is not None for c in cells)
    aligned = aligned and not any("e" in text for text in texts if text)
    longest = max(map(len, decimals), default=0) if aligned else 0
    return [
        CellView(text, numeric, heads, _missing(digits, longest, point) if aligned and text else "")
        for text, digits in zip(texts, decimals, strict=True)
    ]


def _in_column(cell: Cell, grouped: bool, ui: Language) -> str:
    if isinstance(cell, (bool, str)) or not isinstance(cell, (int, float)):
        return shown(cell, ui)
    return ui.numbers.signed(cell, grouped=grouped)


def _missing(digits: str, longest: int, point: str) -> str:
    """Return what a number lacks to as many decimals as the longest."""
    return ("" if digits or not longest else point) + "0" * (longest - len(digits))


def direction(texts: Sequence[str]) -> str:
    """Return "rtl" if most of the texts begin in a script that runs so, and otherwise "ltr"."""
    strong = [
        next((d for c in text if (d := bidirectional(c)) in ("L", "R", "AL")), "") for text in texts
    ]
    return "rtl" if 2 * sum(d in ("R", "AL") for d in strong) > len(strong) else "ltr"


def _column_class(grid: Grid, index: int, numeric: bool, ui: Language) -> str:
    """Return the CSS class of a column: numbers, long text, or none."""
    if numeric:
        return "num"
    longest = max((len(shown(row[index], ui)) for row in grid.rows), default=0)
    return "long" if longest > _LONG else ""


def _is_numeric(cells: list[Cell]) -> bool:
    """Return whether a column holds at least one number, and otherwise only empty cells."""
    kept = [
        cell
        for cell in cells
        if cell is not None and not (isinstance(cell, str) and cell.strip().casefold() in _ABSENT)
    ]
    return bool(kept) and all(
        not isinstance(cell, bool)
        and (isinstance(cell, (int, float)) or bool(_NUMERIC.fullmatch(cell)))
        for cell in kept
    )
