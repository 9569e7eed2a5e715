"""The rows of a source: what a JSON Pointer leads to, as columns and cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from artificer.artifacts.binding.numbers import DataCell, plain
from artificer.values.base import Problem
from artificer.values.canon import canonical_typed
from artificer.values.pointer import escaped, steps_of
from artificer.values.text import clip

MAX_ROWS = 100_000
"""Rows that can be worked on. Artifacts hold far fewer."""

MAX_COLUMNS = 500
"""Columns that data may have."""

MAX_POINTER = 512
_MAX_STEPS = 32
_SHOWN = 12
"""Names and pointers that a hint lists."""

_SCALARS = (str, bool, Decimal, type(None))


class Rows(Struct, frozen=True):
    """Rows with named columns. Each row has one item for each column, as the source holds it."""

    columns: tuple[str, ...]
    items: Sequence[Any]

    def has(self, column: str) -> bool:
        """Return whether rows have the column; a pointer may lead into a nested object."""
        return column in self.columns or _outer(column) in self.columns

    def column(self, column: str, numbers: Iterable[int]) -> list[DataCell]:
        """Return the cells that rows with these numbers have in a column."""
        items = self.items
        if column in self.columns:
            return [_cell(items[number].get(column)) for number in numbers]
        return [_cell_at(items[number], column) for number in numbers]


class NoSuchPlace(Struct, frozen=True):
    """A pointer that leads nowhere: ``at`` is as far as it led, and ``value`` what is there."""

    at: str
    value: Any


def follow(value: Any, pointer: str) -> Any:
    """Return what an RFC 6901 pointer leads to, or :class:`NoSuchPlace`."""
    at = ""
    for step in steps_of(pointer):
        inner = _step(value, step)
        if inner is _NOTHING:
            return NoSuchPlace(at, value)
        value, at = inner, f"{at}/{escaped(step)}"
    return value


def fault_of_pointer(pointer: str) -> str | None:
    """Return why a text is not a pointer that is followed, or None."""
    if len(pointer) > MAX_POINTER or pointer.count("/") > _MAX_STEPS:
        return f"is too long: at most {MAX_POINTER} characters and {_MAX_STEPS} steps"
    if pointer and not pointer.startswith("/"):
        return "must be empty or begin with a slash, as in /items"
    return None


_NOTHING = object()


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 8:
        index = int(step)
        if str(index) == step and index < len(value):
            return value[index]
    return _NOTHING


def _outer(column: str) -> str | None:
    return steps_of(column)[0] if column.startswith("/") and len(column) < MAX_POINTER else None


def places(value: Any, pointer: str = "", depth: int = 3) -> Iterator[str]:
    """Yield the pointers of what can be rows, the nearest first."""
    waiting = [(pointer, value, 0)]
    while waiting:
        at, item, level = waiting.pop(0)
        if isinstance(item, list) and item:
            yield at
        elif isinstance(item, dict) and level < depth:
            if item and all(isinstance(member, _SCALARS) for member in item.values()):
                yield at
            named = list(item.items())[:_SHOWN]
            waiting += [(f"{at}/{escaped(name)}", m, level + 1) for name, m in named]


def missing_hint(found: NoSuchPlace, root: Any) -> str:
    """Return the words about a pointer that leads nowhere."""
    listed = [
        clip(place, 60) or '""' for _, place in zip(range(_SHOWN), places(root), strict=False)
    ]
    known = f"; rows are at: {', '.join(listed)}" if listed else ""
    at = clip(found.at, 60) or "the whole result"
    return f"leads nowhere after {at}{known}"


def rows_at(
    root: Any, pointer: str, columns: tuple[str, ...], at: str
) -> Rows | tuple[Problem, ...]:
    """Return the rows that a pointer leads to.

    They are an array of objects, of arrays, or of single values (whose column is ``value``), or an
    object of single values (whose columns are ``label`` and ``value``).
    """
    found = None if (fault := fault_of_pointer(pointer)) else follow(root, pointer)
    if isinstance(found, NoSuchPlace):
        fault = missing_hint(found, root)
    elif not fault and not isinstance(found, (list, dict)):
        fault = f"leads to a single value, not to rows: {known_rows(root)}"
    elif isinstance(found, dict) and not all(isinstance(m, _SCALARS) for m in found.values()):
        fault = f"leads to an object that holds more than single values: {known_rows(root)}"
    elif isinstance(found, (list, dict)) and len(found) > MAX_ROWS:
        fault = f"has {len(found)} rows, and at most {MAX_ROWS} can be worked on"
    if fault:
        return (Problem(pointer=f"{at}/rows", message=fault, actual=clip(pointer, 80)),)
    if not isinstance(found, dict):
        return _of_list(found or [], columns, at)
    if columns:
        return (_no_columns(at),)
    items = [{"label": name, "value": member} for name, member in found.items()]
    return Rows(("label", "value"), items)


def known_rows(root: Any) -> str:
    """Return where a source has rows, for a hint."""
    shown = [clip(at, 60) or '""' for _, at in zip(range(_SHOWN), places(root), strict=False)]
    return f"rows are at {', '.join(shown)}" if shown else "this result has no rows"


def _no_columns(at: str) -> Problem:
    message = "is only for rows that are arrays: these have names already, leave it out"
    return Problem(pointer=f"{at}/columns", message=message)


def _of_list(found: list[Any], columns: tuple[str, ...], at: str) -> Rows | tuple[Problem, ...]:
    kinds = {_kind(item) for item in found}
    if len(kinds) > 1:
        message = "holds rows of different kinds: objects, arrays and single values cannot be mixed"
        return (Problem(pointer=f"{at}/rows", message=message),)
    kind = kinds.pop() if kinds else "object"
    if columns and kind != "array" and found:
        return (_no_columns(at),)
    if kind == "array":
        return _of_arrays(found, columns, at)
    if kind == "value":
        return Rows(("value",), [{"value": item} for item in found])
    names: dict[str, None] = {}
    for item in found:
        names.update(dict.fromkeys(item))
        if len(names) > MAX_COLUMNS:
            return (_too_wide(at),)
    return Rows(tuple(names), found)


def _of_arrays(
    found: list[list[Any]], columns: tuple[str, ...], at: str
) -> Rows | tuple[Problem, ...]:
    width = max(map(len, found))
    if width > MAX_COLUMNS:
        return (_too_wide(at),)
    if columns and len(columns) != width:
        problem = Problem(
            pointer=f"{at}/columns",
            message="must name each column of the rows, once",
            limit=width,
            actual=len(columns),
        )
        return (problem,)
    if len(set(columns)) < len(columns):
        return (Problem(pointer=f"{at}/columns", message="names a column twice"),)
    names = columns or tuple(map(str, range(width)))
    return Rows(names, [dict(zip(names, row, strict=False)) for row in found])


def _too_wide(at: str) -> Problem:
    return Problem(pointer=f"{at}/rows", message="has too many columns", limit=MAX_COLUMNS)


def _kind(item: Any) -> str:
    if isinstance(item, dict):
        return "object"
    return "array" if isinstance(item, list) else "value"


def _cell_at(row: Any, pointer: str) -> DataCell:
    found = follow(row, pointer) if pointer.startswith("/") else None
    return None if isinstance(found, NoSuchPlace) else _cell(found)


def _cell(value: Any) -> DataCell:
    """Return a cell; what is nested in it is its JSON text."""
    return value if isinstance(value, _SCALARS) else canonical_typed(_plain(value)).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return plain(value) if isinstance(value, Decimal) else value
