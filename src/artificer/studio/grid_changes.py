"""Two versions of a table, or of the data of a chart: the rows and cells that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal, NamedTuple

from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.render.tables import shown

MAX_COMPARED_ROWS = 1_000
"""Rows of each table that are compared, and rows of a difference that are shown."""

MAX_MATCHED_ROWS = 300
"""Rows that are compared one with another: comparing may take the cube of their number."""

ChangeKind = Literal["same", "added", "removed", "changed"]


class CellChange(NamedTuple):
    """A cell before and after; the same text twice where it did not change."""

    kind: ChangeKind
    before: str
    after: str


class RowChange(NamedTuple):
    """A row that was added, removed, changed or kept."""

    kind: ChangeKind
    cells: tuple[CellChange, ...]


class GridChange(NamedTuple):
    """The difference of two tables: every column of either, and the rows that differ.

    ``same`` counts the rows that both have, ``cut`` those that were not compared.
    """

    columns: tuple[tuple[str, ChangeKind], ...]
    rows: tuple[RowChange, ...]
    same: int
    cut: int

    @property
    def any(self) -> bool:
        """Whether anything differs."""
        return bool(self.rows) or any(kind != "same" for _, kind in self.columns)


def grid_change(before: Grid, after: Grid) -> GridChange:
    """Compare two tables. Columns belong together by name, rows by their first cell where it can.

    It can where no first cell is empty or there twice. Other rows belong together by their place
    between equal ones, or in the whole table where there are too many of them.
    """
    names = list(_merged(before.columns, after.columns))
    a = [_row(before, row, names) for row in before.rows[:MAX_COMPARED_ROWS]]
    b = [_row(after, row, names) for row in after.rows[:MAX_COMPARED_ROWS]]
    kinds = tuple((name, _kind(name, before.columns, after.columns)) for name in names)
    pairs = _by_key(before, after, a, b) or _by_place(a, b)
    rows = [_compared(one, other, kinds) for one, other in pairs]
    kept = [row for row in rows if row.kind != "same"]
    longest = max(len(before.rows), len(after.rows))
    cut = max(0, longest - MAX_COMPARED_ROWS, len(kept) - MAX_COMPARED_ROWS)
    return GridChange(kinds, tuple(kept[:MAX_COMPARED_ROWS]), len(rows) - len(kept), cut)


_Row = tuple[str | None, ...]
"""A cell of each column of either table; None if the table has no such column."""

_Pair = tuple[_Row | None, _Row | None]


def _merged(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the names of both in order: a name that is gone stays where it was."""
    for word, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if word != "equal":
            yield from (name for name in before[i:j] if name not in after)
        yield from after[k:m]


def _kind(name: str, before: Sequence[str], after: Sequence[str]) -> ChangeKind:
    if name not in before:
        return "added"
    return "same" if name in after else "removed"


def _row(grid: Grid, row: Sequence[Cell], names: Sequence[str]) -> _Row:
    cells = {name: shown(cell) for name, cell in zip(grid.columns, row, strict=True)}
    return tuple(cells.get(name) for name in names)


def _by_key(before: Grid, after: Grid, a: list[_Row], b: list[_Row]) -> list[_Pair]:
    """Pair the rows by their first cell; a row that is gone stays after the one before it."""
    if not before.columns or before.columns[0] not in after.columns:
        return []
    at = after.columns.index(before.columns[0])
    old = [row[0] for row in before.rows[: len(a)]]
    new = [row[at] for row in after.rows[: len(b)]]
    if None in old or None in new or len({*old}) < len(old) or len({*new}) < len(new):
        return []
    places = {key: n for n, key in enumerate(new)}
    known = dict(zip(old, a, strict=True))
    gone: dict[int, list[_Row]] = {}
    last = -1
    for key, row in zip(old, a, strict=True):
        last = places.get(key, last)
        if key not in places:
            gone.setdefault(last, []).append(row)
    pairs: list[_Pair] = [(row, None) for row in gone.get(-1, [])]
    for n, (key, row) in enumerate(zip(new, b, strict=True)):
        pairs.append((known.get(key), row))
        pairs += [(lost, None) for lost in gone.get(n, [])]
    return pairs


def _by_place(a: list[_Row], b: list[_Row]) -> list[_Pair]:
    if max(len(a), len(b)) > MAX_MATCHED_ROWS:
        return list(zip_longest(a, b))
    pairs: list[_Pair] = []
    for word, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        paired = j - i if word == "equal" else min(j - i, m - k)
        pairs += zip(a[i : i + paired], b[k : k + paired], strict=True)
        pairs += [(row, None) for row in a[i + paired : j]]
        pairs += [(None, row) for row in b[k + paired : m]]
    return pairs


def _compared(
    before: _Row | None, after: _Row | None, kinds: Sequence[tuple[str, ChangeKind]]
) -> RowChange:
    if before is None or after is None:
        kind: ChangeKind = "added" if before is None else "removed"
        row = (after if before is None else before) or ()
        return RowChange(kind, tuple(CellChange(kind, text or "", text or "") for text in row))
    cells = []
    for one, other, (_, column) in zip(before, after, kinds, strict=True):
        changed: ChangeKind = column if column != "same" or one == other else "changed"
        cells.append(CellChange(changed, one or "", other or ""))
    is_changed = any(cell.kind == "changed" for cell in cells)
    return RowChange("changed" if is_changed else "same", tuple(cells))
