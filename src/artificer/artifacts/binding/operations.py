"""The operations of a binding: where, group, sort and top, in this order.

Each is a function of rows. None depends on a locale, a clock or the order of a set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from artificer.artifacts.binding.dates import bucket_of
from artificer.artifacts.binding.form import Aggregate, RowCondition, RowGroup, Scalar, SortKey, Top
from artificer.artifacts.binding.frame import BindingError, Frame
from artificer.artifacts.binding.numbers import (
    DataCell,
    as_text,
    decimal_of,
    is_empty,
    mean,
    number_in,
    total,
)
from artificer.values.base import Problem
from artificer.values.text import clip


def accepts(condition: RowCondition, cell: DataCell) -> bool:
    """Return whether a condition holds for a cell."""
    empty = is_empty(cell)
    match condition.op:
        case "empty" | "not empty":
            return empty is (condition.op == "empty")
        case "in":
            return any(_same(cell, _cell(value)) for value in condition.values)
        case "contains":
            return cell is not None and as_text(_cell(condition.value)) in as_text(cell)
        case "=" | "!=":
            return _same(cell, _cell(condition.value)) is (condition.op == "=")
        case _:
            return _ordered(cell, condition.op, _cell(condition.value))


def _cell(value: Scalar | None) -> DataCell:
    """Return a value of the binding as a cell of the data."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return decimal_of(repr(value)) if isinstance(value, int) else Decimal(repr(value))


def _same(cell: DataCell, other: DataCell) -> bool:
    """Two numbers are equal as numbers, if one is not written as text; all else is text."""
    if cell is None or other is None:
        return cell is other
    if isinstance(cell, Decimal) or isinstance(other, Decimal):
        left, right = number_in(cell), number_in(other)
        return left is not None and left == right
    return as_text(cell) == as_text(other)


def _ordered(cell: DataCell, op: str, other: DataCell) -> bool:
    """Two things that read as numbers are compared as numbers, others as text by code point."""
    if cell is None or other is None:
        return False
    left, right = number_in(cell), number_in(other)
    if left is not None and right is not None:
        return _ORDERS[op](_sign(left, right))
    if isinstance(cell, Decimal) or isinstance(other, Decimal):
        return False
    return _ORDERS[op](_sign(as_text(cell), as_text(other)))


_ORDERS: dict[str, Callable[[int], bool]] = {
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


def _sign(left: Decimal | str, right: Decimal | str) -> int:
    return (left > right) - (left < right)  # type: ignore[operator]


def grouped(
    frame: Frame, group: RowGroup, names: tuple[str, ...], at: str, across: str = ""
) -> Frame:
    """Return one row for each group: its name, and its numbers under these names.

    Groups are in the order in which they first appear, spans of time in the order of time. With
    ``across``, rows of one group have the same cell in that column too.
    """
    by = frame.index(group.by)
    second = [frame.index(across)] if across else []
    found: dict[tuple[DataCell, ...], list[list[DataCell]]] = {}
    for row in frame.rows:
        key = row[by]
        if group.date is not None and key is not None:
            key = bucket_of(as_text(key), group.date)
            if key is None:
                raise BindingError(_no_date(as_text(row[by]), group, at))
        own = (key, *(row[index] for index in second))
        found.setdefault(tuple(map(_distinct, own)), []).append(row)
    keys = list(found)
    if group.date is not None:
        keys.sort(key=lambda key: (key[0] is None, as_text(key[0])))
    rows: list[list[DataCell]] = []
    for cells in keys:
        members = found[cells]
        values = [
            calculated(aggregate, [row[frame.index(aggregate.column)] for row in members], where)
            if aggregate.column
            else Decimal(len(members))
            for aggregate, where in zip(group.values, _places(group, at), strict=True)
        ]
        first = members[0][by] if group.date is None else cells[0]
        rows.append([first, *(members[0][index] for index in second), *values])
    return Frame((group.by, *([across] if across else ()), *names), rows)


def _places(group: RowGroup, at: str) -> list[str]:
    return [f"{at}/group/values/{index}/column" for index in range(len(group.values))]


def _distinct(key: DataCell) -> DataCell:
    """Return the key of a group: ``true`` is not the number 1, nor the text ``1``."""
    return f"\x00{key}" if isinstance(key, bool) else key


def _no_date(text: str, group: RowGroup, at: str) -> Problem:
    message = (
        f"cannot be grouped by {group.date}: a cell is not an ISO 8601 date such as 2026-01-31."
        " Leave such rows out with where"
    )
    return Problem(pointer=f"{at}/group/by", message=message, actual=clip(text, 80))


def calculated(aggregate: Aggregate, cells: Sequence[DataCell], at: str) -> Decimal | None:
    """Return a number made of cells; None for the mean, min or max of none. Empty ones are left
    out.
    """
    kept = [cell for cell in cells if not is_empty(cell)]
    if aggregate.calculate == "count":
        return Decimal(len(kept))
    numbers = [number_in(cell) for cell in kept]
    if None in numbers:
        wrong = as_text(kept[numbers.index(None)])
        message = f"cannot be used for a {aggregate.calculate}: a cell is not a number"
        raise BindingError(Problem(pointer=at, message=message, actual=clip(wrong, 80)))
    found = [number for number in numbers if number is not None]
    if aggregate.calculate == "sum":
        return total(found)
    if not found:
        return None
    if aggregate.calculate == "mean":
        return mean(found)
    return min(found) if aggregate.calculate == "min" else max(found)


def ordered(frame: Frame, keys: Sequence[SortKey]) -> Frame:
    """Return the rows in another order; rows that are equal keep theirs."""
    rows = list(frame.rows)
    for key in reversed(keys):
        rows = _by(frame, rows, key.by, descending=key.descending)
    return Frame(frame.columns, rows)


def _by(
    frame: Frame, rows: list[list[DataCell]], column: str, *, descending: bool
) -> list[list[DataCell]]:
    """A column is one of numbers when every cell that is not empty reads as one."""
    at = frame.index(column)
    full = [row for row in rows if not is_empty(row[at])]
    empty = [row for row in rows if is_empty(row[at])] if len(full) < len(rows) else []
    numbers = [number for row in full if (number := number_in(row[at])) is not None]
    if len(numbers) < len(full):
        full.sort(key=lambda row: as_text(row[at]), reverse=descending)
        return [*full, *empty]
    order = sorted(range(len(full)), key=numbers.__getitem__, reverse=descending)
    return [*(full[number] for number in order), *empty]


def topped(frame: Frame, top: Top, label: str, numeric: Sequence[str], at: str) -> Frame:
    """Return the first or the largest rows, and one row for the sum of the others.

    A column that must be ``numeric`` has a sum; another one has none where a cell is text.
    """
    rows = frame.rows
    if top.by:
        where = frame.index(top.by)
        if any(number_in(row[where]) is None and not is_empty(row[where]) for row in rows):
            message = "is not a column of numbers"
            raise BindingError(Problem(pointer=f"{at}/top/by", message=message, actual=top.by))
        rows = _by(frame, rows, top.by, descending=True)
    kept, rest = rows[: top.n], rows[top.n :]
    if not top.other or not rest:
        return Frame(frame.columns, kept)
    at_label = frame.index(label)
    if any(as_text(row[at_label]) == top.other for row in rows):
        message = "is the name of a row already: choose another"
        raise BindingError(Problem(pointer=f"{at}/top/other", message=message, actual=top.other))
    other: list[DataCell] = []
    for index, column in enumerate(frame.columns):
        if column == label and column not in numeric:
            other.append(top.other)
            continue
        cells = [row[index] for row in rest if not is_empty(row[index])]
        found = [number for cell in cells if (number := number_in(cell)) is not None]
        if column in numeric and len(found) < len(cells):
            message = "cannot add the other rows up: a cell of this column is text"
            raise BindingError(Problem(pointer=f"{at}/top/other", message=message, actual=column))
        other.append(total(found) if found and len(found) == len(cells) else None)
        if column == label:
            other[index] = top.other
    return Frame(frame.columns, [*kept, other])
