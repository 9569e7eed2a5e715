"""The shape of a tool's data, in words: where its rows are, how many, and their columns.

A model reads it at the end of a result, and refers to the data by what it says. It follows from
the data alone, so it is the same in every process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from artificer.values.exact_json import exact, is_number
from artificer.values.pointer import escaped
from artificer.values.text import clip

MAX_LINE = 400
"""Characters of the line about data."""

MAX_COLUMNS = 12
MAX_PLACES = 3
"""Columns and places that are named."""

MAX_ROWS_READ = 1_000
"""Rows whose members make the columns and their types."""

MAX_ROWS_SHOWN = 50
"""Rows of a long result that a model is shown."""

_MAX_DEPTH = 4
_MAX_VISITED = 500
_MAX_NAME = 60
_PLAIN_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_NUMBER = r"-?(?:\d{1,40})(?:\.\d{1,40})?(?:[eE][+-]?\d{1,4})?"


class Column(Struct, frozen=True):
    """A column of rows. The name of one without a name is its number, from 0."""

    name: str
    type: str


class Place(Struct, frozen=True):
    """A place in data with rows, by its JSON Pointer."""

    pointer: str
    rows: int
    columns: tuple[Column, ...]


class DataShape(Struct, frozen=True):
    """The places with rows, and the places of single values."""

    places: tuple[Place, ...] = ()
    values: tuple[Column, ...] = ()


def shape_of(value: Any) -> DataShape:
    """Return the shape of data as `artificer.values.exact_json` reads it."""
    places: list[Place] = []
    values: list[Column] = []
    for pointer, found in _walk(value):
        if isinstance(found, list):
            if (columns := _columns(found)) is not None:
                places.append(Place(pointer, len(found), columns))
        elif not isinstance(found, dict):
            values.append(Column(pointer, type_of([found])))
    return DataShape(tuple(places), tuple(values))


def data_line(label: str, shape: DataShape) -> str:
    """Return the line that names data and its shape.

    >>> data_line("disk_usage#2", shape_of(parse('{"items": [{"name": "a", "bytes": 1}]}')))
    '[Data: disk_usage#2 · rows at "/items": 1 · columns: name (text), bytes (number)]'
    """
    parts = [_place(place) for place in shape.places[:MAX_PLACES]]
    if not parts and not shape.values:
        parts = ["no rows and no values"]
    if len(shape.places) > MAX_PLACES:
        parts.append(f"{len(shape.places) - MAX_PLACES} more places with rows")
    if shape.values:
        parts.append(_values(shape.values))
    return f"[{clip(' · '.join([f'Data: {label}', *parts]), MAX_LINE - 2)}]"


def first_rows(value: Any, limit: int) -> str:
    """Return the first rows of the first place that has some, a line each, or nothing.

    The lines have at most ``limit`` characters; a row that does not fit ends them.
    """
    rows = next((v for _, v in _walk(value) if isinstance(v, list) and _columns(v)), [])
    lines: list[str] = []
    for row in rows[:MAX_ROWS_SHOWN]:
        line = exact(row)
        limit -= len(line) + 1
        if limit < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def type_of(cells: Sequence[Any]) -> str:
    """Return the type of a column's cells, in one word."""
    kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds <= {"date", "text", "number in text"} and len(kinds) > 1:
        return "text"
    return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "empty"


def is_decimal(text: str) -> bool:
    """Whether a text is a number as JSON would write it, leading zeros aside."""
    if not re.fullmatch(_NUMBER, text):
        return False
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the lists and single values of data with their pointers, those further up first."""
    level, visited = [("", value)], 0
    for _ in range(_MAX_DEPTH):
        following: list[tuple[str, Any]] = []
        for pointer, found in level:
            visited += 1
            if visited > _MAX_VISITED:
                return
            yield pointer, found
            if isinstance(found, dict):
                for name, member in found.items():
                    following.append((f"{pointer}/{escaped(name)}", member))
        level = following


def _columns(rows: Sequence[Any]) -> tuple[Column, ...] | None:
    """Return the columns of a list of objects, or of arrays; None for any other list."""
    read = rows[:MAX_ROWS_READ]
    cells: dict[str, list[Any]] = {}
    if read and all(isinstance(row, dict) for row in read):
        for row in read:
            for name, cell in row.items():
                cells.setdefault(name, []).append(cell)
    elif read and all(isinstance(row, list) for row in read):
        for row in read:
            for number, cell in enumerate(row):
                cells.setdefault(str(number), []).append(cell)
    else:
        return None
    return tuple(Column(name, type_of(found)) for name, found in cells.items())


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        if is_decimal(cell):
            return "number in text"
        return "date" if re.fullmatch(_DATE, cell) else "text"
    if isinstance(cell, bool):
        return "true or false"
    if is_number(cell):
        return "number"
    return "list" if isinstance(cell, list) else "object"


def _place(place: Place) -> str:
    shown = ", ".join(f"{_name(c.name)} ({c.type})" for c in place.columns[:MAX_COLUMNS])
    more = len(place.columns) - MAX_COLUMNS
    columns = f"{shown}, {more} more" if more > 0 else shown
    return f"rows at {_quoted(place.pointer)}: {place.rows:,} · columns: {columns or 'none'}"


def _values(values: Sequence[Column]) -> str:
    shown = ", ".join(f"{_quoted(v.name)} ({v.type})" for v in values[:MAX_COLUMNS])
    more = len(values) - MAX_COLUMNS
    return f"values at {shown}" + (f", {more} more" if more > 0 else "")


def _name(name: str) -> str:
    return name if re.fullmatch(_PLAIN_NAME, name) and len(name) <= _MAX_NAME else _quoted(name)


def _quoted(text: str) -> str:
    text = clip(text, _MAX_NAME)
    return json.dumps(text, ensure_ascii=not text.replace("…", "").isprintable())
