"""Tables: rectangular grids, used instead of Markdown tables in the narrative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from artificer.artifacts.fields import Id, Title, blank, items, repeats, text_field
from artificer.artifacts.json_schema import in_schema
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.tool import wrapped_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_TABLES = 8
MAX_COLUMNS = 12
MAX_ROWS = 80
MAX_HEADER = 64
MAX_CELL = 512

Cell = Annotated[
    str | int | float | bool | None,
    in_schema({"type": ["string", "number", "boolean", "null"], "maxLength": MAX_CELL}),
]
"""A cell keeps its JSON type: a number stays a number, null is an empty cell."""

Header = Annotated[str, text_field(MAX_HEADER, "Heading of the column.")]
TableRow = Annotated[
    tuple[Cell, ...],
    Meta(min_length=1, max_length=MAX_COLUMNS, description="One cell for each column."),
]


class Table(Value):
    """A grid in which every row has one cell for each column."""

    kind: Annotated[Literal["table"], Meta(description="Always table.")]
    id: Id
    title: Title = ""
    columns: Annotated[
        tuple[Header, ...],
        Meta(min_length=1, max_length=MAX_COLUMNS, description="The headings, each different."),
    ]
    rows: Annotated[
        tuple[TableRow, ...],
        Meta(max_length=MAX_ROWS, description="The rows, each with one cell for each column."),
    ]


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tool that makes one."""
    tool = wrapped_tool(
        "create_table",
        "Make a table of columns and rows. Never write a Markdown table in the answer."
        " Cite it there as {{artifact:table:ID}}, with exactly this id.",
        Table,
        "table",
    )
    return (tool,)


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a table that its schema cannot express.

    Two columns may not have the same heading, compared without case: neither could be named.
    """
    columns = items(payload, "columns")
    pointers = [f"/table/columns/{index}" for index in range(len(columns))]
    for header, pointer in zip(columns, pointers, strict=True):
        yield from blank(header, pointer)
    yield from repeats(columns, pointers, "heading")
    for index, row in enumerate(items(payload, "rows")):
        if isinstance(row, list) and row and columns and len(row) != len(columns):
            yield Problem(
                pointer=f"/table/rows/{index}",
                message="must have exactly one cell for each column",
                limit=len(columns),
                actual=len(row),
            )


def _size(table: Table) -> str:
    return f"{count(len(table.columns), 'column')}, {count(len(table.rows), 'row')}"


KIND = PayloadKind(
    tools=tools,
    limit=MAX_TABLES,
    problems=lambda _, payload, __: problems(payload),
    load=lambda _, payload: Table.from_json(payload),
    size=_size,
)
