"""The form of a binding: what a model writes in ``data`` instead of numbers and rows.

The members are applied in one order, whatever order they are written in: rows, where, group, sort,
top, round, and last the choice of columns.
"""

from __future__ import annotations

from typing import Annotated, Literal

from artificer.artifacts.binding.dates import Bucket
from artificer.artifacts.json_schema import in_schema, schema_of
from artificer.values.base import JsonObject, JsonValue, Meta, Value
from artificer.values.pointer import steps_of

VERSION, ACROSS = 1, 2
"""The version of the operations, and of those with ``across``. One is recorded with each binding.
"""

MAX_NAME = 200
MAX_LABEL = 100
MAX_VALUES = 12
MAX_SHOWN = 32
MAX_CONDITIONS = 8
MAX_SORT = 4
MAX_LISTED = 50
MAX_TOP = 100
MAX_ROUND = 12

Calculation = Literal["sum", "count", "mean", "min", "max"]
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "in", "empty", "not empty"]

ColumnName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_NAME,
        description="Name of a column, or a pointer into a row: /size/bytes.",
    ),
]
ShownName = Annotated[
    str, Meta(max_length=MAX_NAME, description="Name to show instead; leave out to keep it.")
]
CallLabel = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_LABEL,
        description="The result's label, as it was shown: disk_usage#2.",
    ),
]
RowsPointer = Annotated[
    str,
    Meta(max_length=512, description="JSON Pointer to the rows: /items. Leave out for the whole."),
]
ColumnNames = Annotated[
    tuple[ColumnName, ...],
    Meta(max_length=100, description="Names of the columns, only where rows are arrays."),
]
Scalar = str | int | float | bool
_SCALAR: JsonObject = {"type": ["string", "number", "boolean"]}
_ROUND = in_schema({"type": "integer", "minimum": 0, "maximum": MAX_ROUND})
_CALCULATION = Meta(description="sum, count, mean, min or max.")


def default_name(column: str) -> str:
    """Return the name that a column is shown under when it has no other.

    >>> default_name("/size/bytes")
    'bytes'
    """
    return steps_of(column)[-1] if column.startswith("/") else column


class RowCondition(Value):
    """Keeps rows whose column compares like this. All conditions must hold."""

    column: ColumnName
    op: Annotated[Operator, Meta(description="How to compare.")]
    value: Annotated[
        Scalar | None, in_schema(_SCALAR), Meta(description="What to compare with.")
    ] = None
    values: Annotated[
        tuple[Annotated[Scalar, in_schema(_SCALAR)], ...],
        Meta(max_length=MAX_LISTED, description="For in: what to compare with."),
    ] = ()


class Aggregate(Value):
    """One number for each group. Empty cells do not count."""

    calculate: Annotated[Calculation, _CALCULATION]
    column: Annotated[
        str, Meta(max_length=MAX_NAME, description="Of this column; none needed to count rows.")
    ] = ""
    name: ShownName = ""


class RowGroup(Value):
    """Puts rows with the same cell together."""

    by: ColumnName
    date: Annotated[
        Bucket | None,
        in_schema({"type": "string", "enum": ["day", "week", "month", "quarter", "year"]}),
        Meta(description="For dates: put all of this span together."),
    ] = None
    values: Annotated[
        tuple[Aggregate, ...],
        Meta(min_length=1, max_length=MAX_VALUES, description="The numbers of each group."),
    ]


class SortKey(Value):
    """Orders rows by a column: numbers by size, text by its characters, empty cells last."""

    by: ColumnName
    descending: Annotated[bool, Meta(description="true for the largest first.")] = False


class Top(Value):
    """Keeps the first rows; with ``by``, those where this column is largest, the largest first."""

    n: Annotated[int, Meta(ge=1, le=MAX_TOP, description="How many rows.")]
    by: Annotated[str, Meta(max_length=MAX_NAME, description="Column of numbers.")] = ""
    other: Annotated[
        str,
        Meta(max_length=MAX_LABEL, description="Label of one more row, the sum of all the others."),
    ] = ""


class Pick(Value):
    """A column to show."""

    column: ColumnName
    name: ShownName = ""


class Data(Value):
    """Rows and numbers from the result of an earlier call. They are never copied by hand."""

    call: CallLabel
    rows: RowsPointer = ""
    columns: ColumnNames = ()
    where: Annotated[
        tuple[RowCondition, ...], Meta(max_length=MAX_CONDITIONS, description="Which rows to keep.")
    ] = ()
    group: Annotated[
        RowGroup | None,
        in_schema({**schema_of(RowGroup), "description": "Puts rows with the same cell together."}),
    ] = None
    sort: Annotated[
        tuple[SortKey, ...], Meta(max_length=MAX_SORT, description="How to order the rows.")
    ] = ()
    top: Annotated[
        Top | None,
        in_schema({**schema_of(Top), "description": "Keeps the first or the largest rows."}),
    ] = None
    round: Annotated[
        int | None, _ROUND, Meta(description="Decimals to round numbers to; leave out to keep all.")
    ] = None
    label: Annotated[
        str, Meta(max_length=MAX_NAME, description="The column with the names of the rows.")
    ] = ""
    across: Annotated[
        str,
        Meta(max_length=MAX_NAME, description="The column whose cells are the grid's columns."),
    ] = ""
    values: Annotated[
        tuple[Pick, ...], Meta(max_length=MAX_SHOWN, description="The columns to show, in order.")
    ] = ()


class CitedData(Value):
    """One value from the result of an earlier call: the one ``at`` a place, or one calculated."""

    call: CallLabel
    at: Annotated[
        str | None,
        in_schema({"type": "string", "maxLength": 512}),
        Meta(description="JSON Pointer to a single value: /total."),
    ] = None
    rows: RowsPointer = ""
    columns: ColumnNames = ()
    where: Annotated[
        tuple[RowCondition, ...],
        Meta(max_length=MAX_CONDITIONS, description="Which rows to count."),
    ] = ()
    calculate: Annotated[
        Calculation | None,
        in_schema({"type": "string", "enum": ["sum", "count", "mean", "min", "max"]}),
        Meta(description="What to calculate from the rows, where there is no at."),
    ] = None
    column: Annotated[
        str, Meta(max_length=MAX_NAME, description="Of this column; none needed to count rows.")
    ] = ""
    round: Annotated[
        int | None, _ROUND, Meta(description="Decimals to round it to; leave out to keep all.")
    ] = None


_LISTS = {"where": "column", "sort": "by", "values": "column", "columns": ""}
"""Members that are lists; what a text in one of them is the only member of."""


def tidied(data: JsonValue) -> JsonValue:
    """Return ``data`` in its one form, from the shorter ones that models write.

    A text stands for the object whose first member it is, one item for a list of one, and a number
    for ``top``.
    """
    if not isinstance(data, dict):
        return data
    found: JsonObject = {
        name: _tidied_list(member, _LISTS[name]) if name in _LISTS else member
        for name, member in data.items()
    }
    top, group = found.get("top"), found.get("group")
    if isinstance(top, (int, float)) and not isinstance(top, bool):
        found["top"] = {"n": top}
    if isinstance(group, dict) and "values" in group:
        found["group"] = {**group, "values": _tidied_list(group["values"], "")}
    return found


def _tidied_list(member: JsonValue, only: str) -> JsonValue:
    if isinstance(member, (str, dict)):
        return _tidied_list([member], only)
    if not only or not isinstance(member, list):
        return member
    return [{only: item} if isinstance(item, str) else item for item in member]
