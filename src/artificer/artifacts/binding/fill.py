"""The members of a payload that bound rows give: a model would have typed them.

One function for each shape of payload. :data:`FILLS` names the shape of each tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from msgspec import Struct

from artificer.artifacts.binding.frame import BindingError, Frame
from artificer.artifacts.binding.numbers import (
    DataCell,
    as_cell,
    as_double,
    as_text,
    cut,
    is_empty,
    number_in,
    rounded,
)
from artificer.values.base import JsonObject, JsonValue, Problem
from artificer.values.text import clip


class ShownRows(Struct):
    """The rows and columns to show. ``label`` is the column of names, or empty.

    ``columns`` are pairs of a column and the name it is shown under. ``at`` is the pointer of the
    binding, for problems. ``cut`` is set when a number was shortened to 15 digits. Numbers to show
    have at limit ``digits`` decimals, if that is given. The cells of ``across`` are the columns of
    a grid.
    """

    frame: Frame
    label: str
    columns: tuple[tuple[str, str], ...]
    at: str
    digits: int | None = None
    cut: bool = False
    across: str = ""

    def cells(self, column: str) -> list[DataCell]:
        """Return the cells of a column."""
        index = self.frame.index(column)
        return [row[index] for row in self.frame.rows]

    def values(self, column: str) -> list[DataCell]:
        """Return the cells of a column to show: numbers rounded, all else as it is."""
        digits = self.digits
        cells = self.cells(column)
        return cells if digits is None else [_rounded(cell, digits) for cell in cells]

    def labels(self) -> list[JsonValue]:
        """Return the names of the rows."""
        return [*self._names(self.label, "label")]

    def columns_across(self) -> list[str]:
        """Return the names of the columns of a grid, one for each row."""
        return self._names(self.across, "across")

    def _names(self, column: str, member: str) -> list[str]:
        found = self.cells(column)
        if None in found or "" in found:
            where = f"{self.at}/{member}"
            raise BindingError(self._gap(column, where, "name", self._first_gap(found)))
        return [as_text(cell) for cell in found]

    def _first_gap(self, cells: list[DataCell]) -> int:
        return next(n for n, cell in enumerate(cells, 1) if is_empty(cell))

    def numbers(self, column: str, number: int, *, gaps: bool = False) -> list[JsonValue]:
        """Return the numbers of the ``number``-th column to show.

        All of them must be there, unless a chart can show ``gaps``.
        """
        where = f"{self.at}/values/{number}/column"
        cells = self.values(column)
        result: list[JsonValue] = []
        for row, cell in enumerate(cells, 1):
            if is_empty(cell):
                if not gaps:
                    raise BindingError(self._gap(column, where, "number", row))
                result.append(None)
                continue
            found = number_in(cell)
            if found is None:
                message = "is not a column of numbers: a cell is text"
                actual = clip(as_text(cell), 80)
                raise BindingError(Problem(pointer=where, message=message, actual=actual))
            result.append(self._double(found, where))
        return result

    def _double(self, number: Decimal, where: str) -> int | float:
        exact = as_double(number)
        if exact is None:
            self.cut = True
            exact = as_double(cut(number))
        if exact is None:
            message = "has a number that no chart can hold: beyond 2**53 - 1, or next to 0"
            raise BindingError(
                Problem(pointer=where, message=message, actual=clip(str(number), 80))
            )
        return exact

    def _gap(self, column: str, where: str, what: str, row: int) -> Problem:
        hint = '{"column": "' + clip(column, 40) + '", "op": "not empty"}'
        message = f"has no {what} in row {row}: leave such rows out with where: [{hint}]"
        return Problem(pointer=where, message=message)


def _rounded(cell: DataCell, digits: int) -> DataCell:
    """Return a cell that reads as a number with fewer decimals; another one, or one with no more
    of them, as it is.
    """
    number = number_in(cell)
    fewer = cell if number is None else rounded(number, digits)
    return cell if fewer == number else fewer


def _segments(shown: ShownRows) -> JsonObject:
    column, _ = shown.columns[0]
    pairs = zip(shown.labels(), shown.numbers(column, 0), strict=True)
    return {"segments": [{"label": label, "value": value} for label, value in pairs]}


def _series(shown: ShownRows) -> JsonObject:
    return {"labels": shown.labels(), "series": _all_series(shown)}


def _all_series(shown: ShownRows) -> list[JsonValue]:
    """Return a series for each column, with null where a row has no value."""
    return [
        {"name": name, "values": shown.numbers(column, number, gaps=True)}
        for number, (column, name) in enumerate(shown.columns)
    ]


def _combined(shown: ShownRows) -> JsonObject:
    first, *others = _all_series(shown)
    return {"labels": shown.labels(), "bars": [first], "lines": others}


def _heat_map(shown: ShownRows) -> JsonObject:
    if shown.across:
        return _pivoted(shown)
    columns = [shown.numbers(c, n, gaps=True) for n, (c, _) in enumerate(shown.columns)]
    rows: list[JsonValue] = [
        {"label": label, "values": list(values)}
        for label, *values in zip(shown.labels(), *columns, strict=True)
    ]
    return {"columns": [name for _, name in shown.columns], "rows": rows}


def _pivoted(shown: ShownRows) -> JsonObject:
    """Return a grid of long rows: names and columns in the order in which they first appear.

    A cell that no row is for is null; two rows for one cell are a problem.
    """
    grid: dict[str, dict[str, JsonValue]] = {}
    columns: dict[str, None] = {}
    numbers = shown.numbers(shown.columns[0][0], 0, gaps=True)
    for label, column, number in zip(shown.labels(), shown.columns_across(), numbers, strict=True):
        columns[column] = None
        cells = grid.setdefault(str(label), {})
        if column in cells:
            message = "has two rows for one cell of the grid: use group to make one of them"
            cell = clip(f"{label}, {column}", 80)
            raise BindingError(Problem(pointer=f"{shown.at}/across", message=message, actual=cell))
        cells[column] = number
    rows: list[JsonValue] = [
        {"label": label, "values": [cells.get(column) for column in columns]}
        for label, cells in grid.items()
    ]
    return {"columns": [*columns], "rows": rows}


def _values(shown: ShownRows) -> JsonObject:
    return {"values": shown.numbers(shown.columns[0][0], 0)}


def _boxes(shown: ShownRows) -> JsonObject:
    """Return the values of rows with one label as one group, in the order in which they appear."""
    groups: dict[str, list[JsonValue]] = {}
    numbers = shown.numbers(shown.columns[0][0], 0)
    for label, number in zip(shown.labels(), numbers, strict=True):
        groups.setdefault(str(label), []).append(number)
    return {"groups": [{"label": label, "values": values} for label, values in groups.items()]}


def _points(shown: ShownRows) -> JsonObject:
    (x, _), (y, name) = shown.columns
    pairs = zip(shown.numbers(x, 0), shown.numbers(y, 1), strict=True)
    points: list[JsonObject] = [{"x": left, "y": right} for left, right in pairs]
    if shown.label:
        for point, label in zip(points, shown.labels(), strict=True):
            point["label"] = label
    return {"series": [{"name": name, "points": [*points]}]}


def _table(shown: ShownRows) -> JsonObject:
    columns = [shown.values(column) for column, _ in shown.columns]
    rows: list[JsonValue] = [list(map(as_cell, row)) for row in zip(*columns, strict=True)]
    return {"columns": [name for _, name in shown.columns], "rows": rows}


def _items(shown: ShownRows) -> JsonObject:
    return {"items": _lines(shown)}


def _lines(shown: ShownRows) -> list[JsonValue]:
    """Return one text for each row: its name, and behind a colon its other columns."""
    columns = [shown.values(column) for column, _ in shown.columns]
    lines: list[JsonValue] = []
    for number, label in enumerate(shown.labels()):
        rest = ", ".join(as_text(cells[number]) for cells in columns)
        lines.append(f"{label}: {rest}" if rest else label)
    return lines


def _ticks(shown: ShownRows) -> JsonObject:
    """Items are numbered, so that a tick stays where it is."""
    lines = enumerate(_lines(shown), 1)
    return {"items": [{"id": str(number), "label": line} for number, line in lines]}


class Fill(Struct, frozen=True):
    """The payload of a tool, made of rows.

    ``members`` are those of its payload that ``make`` writes. At least ``least`` columns have to be
    shown, at most ``limit``, and ``rows`` may be there. ``labelled`` says whether rows need a name,
    ``grid`` whether the cells of a column can be columns. ``hint`` are words for the model.
    """

    make: Callable[[ShownRows], JsonObject]
    members: tuple[str, ...]
    rows: int
    least: int = 1
    limit: int = 12
    labelled: bool = True
    hint: str = ""
    grid: bool = False


_CATEGORIES = Fill(_series, ("labels", "series"), rows=32, limit=8)

FILLS: Mapping[str, Fill] = {
    "create_pie_chart": Fill(_segments, ("segments",), rows=24, limit=1),
    "create_bar_chart": _CATEGORIES,
    "create_line_chart": _CATEGORIES,
    "create_area_chart": _CATEGORIES,
    "create_stacked_bar_chart": _CATEGORIES,
    "create_scatter_chart": Fill(_points, ("series",), rows=48, least=2, limit=2, labelled=False),
    "create_histogram_chart": Fill(_values, ("values",), rows=500, limit=1, labelled=False),
    "create_heat_map_chart": Fill(
        _heat_map,
        ("columns", "rows"),
        rows=32,
        limit=32,
        hint="Each of values is a column; or one is, and the cells of across are the columns.",
        grid=True,
    ),
    "create_box_plot_chart": Fill(
        _boxes, ("groups",), rows=1920, limit=1, hint="Rows with one label are one group."
    ),
    "create_combined_chart": Fill(
        _combined,
        ("labels", "bars", "lines"),
        rows=32,
        least=2,
        limit=5,
        hint="The first of values are bars, the others lines.",
    ),
    "create_table": Fill(_table, ("columns", "rows"), rows=80, least=0, labelled=False),
    "create_list": Fill(_items, ("items",), rows=48, least=0),
    "create_checklist": Fill(_ticks, ("items",), rows=64, least=0),
}
"""How each tool whose artifact can be bound fills its payload."""
