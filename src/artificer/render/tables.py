"""A grid as an HTML table, and as a CSV file inside a link."""

from __future__ import annotations

import re
from urllib.parse import quote

from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.render.spreadsheet import to_csv
from artificer.render.text import escape, figure, one_line

_NUMERIC = re.compile(
    r"[(~≈<>]?\s?[+\-−±]?\s?[$€£¥]?\s?\d[\d.,  ]*\s?[%‰°×]?\s?[a-zA-Zµ€$£¥/]{0,5}\)?"
)
"""Text that counts as a number: digits with a sign, a currency or a short unit."""

_LONG = 40
"""Columns with longer text than this get more width."""


def table_html(grid: Grid, caption: str, label: str) -> str:
    """Return the table in a container that scrolls sideways and that a keyboard can reach.

    ``caption`` is HTML; ``label`` is the container's name for assistive technology.
    """
    numeric = numeric_columns(grid)
    head = "".join(
        f'<th scope="col" dir="auto"{_column_class(grid, index, n)}>{escape(name)}</th>'
        for index, (name, n) in enumerate(zip(grid.columns, numeric, strict=True))
    )
    body = "".join(
        "<tr>"
        + "".join(
            _cell(cell, n, heads=index == 0 and grid.row_headed and not numeric[0])
            for index, (cell, n) in enumerate(zip(row, numeric, strict=True))
        )
        + "</tr>\n"
        for row in grid.rows
    )
    if not grid.rows:
        body = f'<tr><td class="none" colspan="{len(grid.columns)}">No rows</td></tr>'
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(one_line(label))}">'
        f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
    )


def csv_link(grid: Grid, name: str, what: str) -> str:
    """Return a link that saves the grid as ``name``.csv, without any script."""
    data = quote(to_csv(grid), safe="")
    return (
        f'<a class="download" download="{escape(name)}.csv"'
        f' aria-label="Save as CSV: {escape(what)}"'
        f' href="data:text/csv;charset=utf-8,{data}">Save as CSV</a>'
    )


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


def _cell(cell: Cell, numeric: bool, *, heads: bool) -> str:
    if cell is None:
        return f'<td class="none{" num" if numeric else ""}" aria-label="no value">—</td>'
    if heads:
        return f'<th scope="row" dir="auto">{escape(shown(cell))}</th>'
    return f'<td dir="auto"{_number_class(numeric)}>{escape(shown(cell))}</td>'


def _column_class(grid: Grid, index: int, numeric: bool) -> str:
    """Return the CSS class of a column: numbers, long text, or none."""
    if numeric:
        return _number_class(numeric)
    longest = max((len(shown(row[index])) for row in grid.rows), default=0)
    return ' class="long"' if longest > _LONG else ""


def _number_class(numeric: bool) -> str:
    return ' class="num"' if numeric else ""


def _is_numeric(cells: list[Cell]) -> bool:
    """Return whether a column holds at least one number, and otherwise only empty cells."""
    kept = [cell for cell in cells if cell is not None and cell not in ("", "—", "-", "–")]
    return bool(kept) and all(
        not isinstance(cell, bool)
        and (isinstance(cell, int | float) or bool(_NUMERIC.fullmatch(cell)))
        for cell in kept
    )
