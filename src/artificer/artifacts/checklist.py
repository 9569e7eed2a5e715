"""Checklists: items that a reader ticks off. Their ids are stable, so that ticks survive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from artificer.artifacts.fields import Id, Title, blanks, items, repeats, text, text_field
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.tool import wrapped_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_CHECKLISTS = 8
MAX_ITEMS = 64
MAX_ITEM_ID = 48
MAX_LABEL = 320


class CheckItem(Value):
    """One thing to tick off."""

    id: Annotated[
        str,
        Meta(
            pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_ITEM_ID}}}$",
            description="Stable id of the item: letters, digits, _ and -.",
        ),
    ]
    label: Annotated[str, text_field(MAX_LABEL, "What is to be done.")]
    checked: Annotated[bool, Meta(description="true if it is done already.")] = False


class Checklist(Value):
    """Items to tick off."""

    kind: Annotated[Literal["checklist"], Meta(description="Always checklist.")]
    id: Id
    title: Title = ""
    items: Annotated[
        tuple[CheckItem, ...],
        Meta(min_length=1, max_length=MAX_ITEMS, description="The items."),
    ]


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tool that makes one."""
    tool = wrapped_tool(
        "create_checklist",
        "Make a list of things that the reader ticks off."
        " Cite it in the answer as {{artifact:checklist:ID}}, with exactly this id.",
        Checklist,
        "checklist",
    )
    return (tool,)


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a checklist that its schema cannot express."""
    yield from blanks(payload, "items", "label", "/checklist")
    ids = [text(item, "id") for item in items(payload, "items")]
    pointers = [f"/checklist/items/{index}/id" for index in range(len(ids))]
    yield from repeats(list(ids), pointers, "item id")


KIND = PayloadKind(
    tools=tools,
    limit=MAX_CHECKLISTS,
    problems=lambda _, payload, __: problems(payload),
    load=lambda _, payload: Checklist.from_json(payload),
    size=lambda made: count(len(made.items), "item"),
)
