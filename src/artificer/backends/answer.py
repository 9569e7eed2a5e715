"""Answers of the built-in tools: one JSON object, in pages if there is much to list.

The integers of calls are read here too: JSON may write them as ``1e3``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from artificer.ports import Receipt
from artificer.values.base import JsonObject, JsonValue, Problem
from artificer.values.blocks import CallStatus
from artificer.values.canon import canonical
from artificer.values.refusal import not_ok

MAX_PAGE_CHARACTERS = 24_000
"""Of the items of one page: a model is shown 32,000 characters of a result."""

T = TypeVar("T")


class ToolRefusal(Exception):
    """The call cannot be performed, or may not be; the model reads why."""

    def __init__(
        self, detail: str, status: CallStatus = "error", problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.problems = tuple(problems)


def integer_in(arguments: JsonObject, name: str) -> int | None:
    """An integer that a call names, if it does."""
    value = arguments.get(name)
    return int(value) if isinstance(value, (int, float)) else None


def receipt_of(tool: str, work: Callable[[], JsonObject | str]) -> Receipt:
    """Do the work and tell what came of it: an object as JSON, text as it is."""
    try:
        answer = work()
    except ToolRefusal as refusal:
        return refused(tool, refusal)
    content = answer if isinstance(answer, str) else canonical(answer).decode()
    return Receipt(status="ok", content=content)


def refused(tool: str, refusal: ToolRefusal) -> Receipt:
    """Return the receipt with which a model reads a refusal."""
    content = not_ok(refusal.status, f"{tool}: {refusal.detail}", refusal.problems)
    return Receipt(status=refusal.status, content=content)


def page(
    name: str,
    items: Iterable[tuple[str, T]],
    tell: Callable[[str, T], JsonObject],
    limit: int,
) -> JsonObject:
    """The first ``limit`` items, or fewer of long ones, under ``name``.

    Each item comes with the cursor that stands for it; ``next`` is there when items are left, and
    is the cursor of the last one listed. At least one item is listed.
    """
    listed: list[JsonValue] = []
    size, last = 0, ""
    for cursor, item in items:
        facts = tell(cursor, item)
        size += len(canonical(facts))
        if listed and (len(listed) == limit or size > MAX_PAGE_CHARACTERS):
            return {name: listed, "next": last}
        listed.append(facts)
        last = cursor
    return {name: listed}
