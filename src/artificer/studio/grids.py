"""Tables that are sorted and filtered: by the address without a script, by a small script at once.

Every row is on the page, in its order, with its rank in each column: the script sorts by ranks,
so that both ways give the same order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from artificer.artifacts.iso_date import milliseconds
from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.render.spreadsheet import safe_cell
from artificer.render.tables import table_view
from artificer.studio.words import visible

MAX_FILTER = 200
"""Characters of a filter."""

Direction = Literal["ascending", "descending"]

_FIGURE = re.compile(r"[+\-−]?\d[\d.,\u00a0\u2009\u202f ]*")
_SPACES = re.compile(r"[\u00a0\u2009\u202f ]")

_RankKey = tuple[int, float | int | str]


class GridChoice(NamedTuple):
    """The rows that a reader wants to see of a table: a column from 1 (0: as it is), and words."""

    column: int = 0
    direction: Direction = "ascending"
    words: str = ""


class GridCell(NamedTuple):
    """A cell as it is shown. ``rank`` is its place in its column, empty for no value.

    ``plain`` is its value for a spreadsheet.
    """

    text: str | None
    numeric: bool
    heads: bool
    pad: str
    rank: str
    plain: str


class GridColumn(NamedTuple):
    """A column's heading, how it is sorted now, and the address that sorts it next."""

    name: str
    plain: str
    style: str
    sorted: str
    link: str


class GridRow(NamedTuple):
    """A row; ``at`` is its place in the table as it was made."""

    at: int
    cells: tuple[GridCell, ...]
    is_hidden: bool


class SortedGrid(NamedTuple):
    """A table as its template reads it."""

    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]
    choice: GridChoice
    direction: str

    @property
    def shown(self) -> int:
        """The number of rows that the filter leaves."""
        return sum(not row.is_hidden for row in self.rows)


def choice_of(query: Mapping[str, str], columns: int) -> GridChoice:
    """Read ``sort``, ``down`` and ``find`` of an address; anything else counts as nothing."""
    text = query.get("sort", "")
    column = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
    direction: Direction = "descending" if query.get("down") == "1" else "ascending"
    words = query.get("find", "").strip()[:MAX_FILTER]
    return GridChoice(column if column <= columns else 0, direction, words)


def sorted_grid(grid: Grid, choice: GridChoice, kept: Mapping[str, str]) -> SortedGrid:
    """Return the table as a reader wants it. ``kept`` is what else stays in the address."""
    view = table_view(grid)
    ranks = [column_ranks([row[n] for row in grid.rows]) for n in range(len(grid.columns))]
    rows = []
    for at, (cells, values) in enumerate(zip(view.rows, grid.rows, strict=True)):
        shown = tuple(
            GridCell(
                cell.text, cell.numeric, cell.heads, cell.pad, ranks[n][at], safe_cell(values[n])
            )
            for n, cell in enumerate(cells)
        )
        rows.append(GridRow(at, shown, not _holds(shown, choice.words)))
    columns = tuple(
        GridColumn(
            column.name,
            safe_cell(column.name),
            column.style,
            choice.direction if choice.column == number else "",
            _link(number, choice, kept),
        )
        for number, column in enumerate(view.columns, 1)
    )
    return SortedGrid(columns, tuple(_sorted(rows, choice)), choice, view.direction)


def column_ranks(cells: Sequence[Cell]) -> list[str]:
    """Return the place of each cell in its column; equal ones share it, an empty one has none.

    Numbers are ordered by value and come before text, dates by time, text by code point.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    figures, moments = _figures(texts), _moments(texts)
    keys = [_key(cell, figures, moments) for cell in cells]
    places = {key: str(n) for n, key in enumerate(sorted({key for key in keys if key}))}
    return [places[key] if key else "" for key in keys]


def _key(cell: Cell, figures: Mapping[str, float], moments: Mapping[str, float]) -> _RankKey | None:
    if isinstance(cell, bool):
        return 1, int(cell)
    if isinstance(cell, (int, float)):
        return 0, cell
    text = cell.strip() if cell else ""
    if not text:
        return None
    if text in figures:
        return 0, figures[text]
    return (2, moments[text]) if text in moments else (3, text)


def _figures(texts: Sequence[str]) -> dict[str, float]:
    """Return the numbers of texts such as "1,200 €", where all have the same words around them."""
    found: dict[str, float] = {}
    around = set[tuple[str, str]]()
    for text in texts:
        match = _FIGURE.search(text)
        value = _value(match[0]) if match else None
        if match is None or value is None:
            return {}
        around.add((text[: match.start()].strip(), text[match.end() :].strip()))
        found[text] = value
    return found if len(around) <= 1 else {}


def _value(text: str) -> float | None:
    """Read a number with groups of digits; the last of two signs is the decimal one."""
    plain = _SPACES.sub("", text).replace("−", "-").rstrip(".,")
    if "," in plain and "." in plain:
        group = "," if plain.rindex(",") < plain.rindex(".") else "."
        plain = plain.replace(group, "").replace(",", ".")
    elif "," in plain:
        is_grouped = re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", plain)
        plain = plain.replace(",", "" if is_grouped else ".")
    elif plain.count(".") > 1:
        plain = plain.replace(".", "")
    try:
        return float(plain)
    except ValueError:
        return None


def _moments(texts: Sequence[str]) -> dict[str, float]:
    """Return the times of dates, where all texts are dates in ISO 8601."""
    found: dict[str, float] = {}
    for text in texts:
        moment = _moment(text)
        if moment is None:
            return {}
        found[text] = moment
    return found


def _moment(text: str) -> float | None:
    if (at := milliseconds(text)) is not None:
        return float(at)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000


def _holds(cells: Sequence[GridCell], words: str) -> bool:
    wanted = words.lower()
    return not wanted or any(wanted in visible(cell.text or "").lower() for cell in cells)


def _sorted(rows: list[GridRow], choice: GridChoice) -> list[GridRow]:
    """Sort by ranks. Rows of one rank stay in order, and rows without a value come last."""
    if not choice.column:
        return rows
    at, sign = choice.column - 1, 1 if choice.direction == "ascending" else -1

    def place(row: GridRow) -> tuple[bool, int]:
        rank = row.cells[at].rank
        return not rank, sign * int(rank or 0)

    return sorted(rows, key=place)


def _link(column: int, choice: GridChoice, kept: Mapping[str, str]) -> str:
    """Return the address of the next order: ascending, descending, then as it was made."""
    query = dict(kept)
    if choice.words:
        query["find"] = choice.words
    if choice.column != column:
        query["sort"] = str(column)
    elif choice.direction == "ascending":
        query |= {"sort": str(column), "down": "1"}
    return f"?{urlencode(query)}"
