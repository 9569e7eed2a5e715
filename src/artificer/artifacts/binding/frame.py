"""The rows of a binding while it is worked out, and the problems found on the way."""

from __future__ import annotations

from msgspec import Struct

from artificer.artifacts.binding.numbers import DataCell
from artificer.values.base import Problem
from artificer.values.text import clip

MAX_LISTED = 20
"""Columns that a hint lists."""


class Frame(Struct):
    """Rows of cells, one for each column."""

    columns: tuple[str, ...]
    rows: list[list[DataCell]]

    def index(self, column: str) -> int:
        """Return the position of a column."""
        return self.columns.index(column)


class BindingError(Exception):
    """The binding cannot be worked out: these are the problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*(problem.message for problem in problems))
        self.problems = problems


def listed(names: tuple[str, ...]) -> str:
    """Return the names of columns for a hint, bounded."""
    shown = [clip(name, 40) for name in names[:MAX_LISTED]]
    more = f", and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return (", ".join(shown) or "none") + more
