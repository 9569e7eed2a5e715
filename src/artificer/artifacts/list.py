"""Lists: bullets and numbered steps, used instead of Markdown lists in the narrative."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from artificer.artifacts.fields import Id, Title, blank, items, text_field
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.tool import wrapped_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_LISTS = 12
MAX_ITEMS = 48
MAX_ITEM = 512

ListItem = Annotated[str, text_field(MAX_ITEM, "Text of the item, without a bullet or number.")]

_MARKER = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")


class ItemList(Value):
    """Plain items. ``ordered`` numbers them."""

    kind: Annotated[Literal["list"], Meta(description="Always list.")]
    id: Id
    title: Title = ""
    ordered: Annotated[bool, Meta(description="true to number the items: steps, ranks.")] = False
    items: Annotated[
        tuple[ListItem, ...],
        Meta(min_length=1, max_length=MAX_ITEMS, description="The items."),
    ]


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tool that makes one."""
    tool = wrapped_tool(
        "create_list",
        "Make a list of plain items, numbered if ordered is true. Never write a Markdown list in"
        " the answer. Cite it there as {{artifact:list:ID}}, with exactly this id.",
        ItemList,
        "list",
    )
    return (tool,)


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the problems of a list that its schema cannot express."""
    for index, item in enumerate(items(payload, "items")):
        pointer = f"/list/items/{index}"
        yield from blank(item, pointer)
        if isinstance(item, str) and (marker := _MARKER.match(item)):
            yield Problem(
                pointer=pointer,
                message="begins with a list marker: leave it out (ordered: true numbers the items)",
                actual=marker.group().strip(),
            )


KIND = PayloadKind(
    tools=tools,
    limit=MAX_LISTS,
    problems=lambda _, payload, __: problems(payload),
    load=lambda _, payload: ItemList.from_json(payload),
    size=lambda made: count(len(made.items), "item"),
)
