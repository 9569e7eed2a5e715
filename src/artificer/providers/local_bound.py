"""Bindings for a small model: the labels, places and columns that its results have named.

A model of 135 million parameters cannot copy ``disk_usage#2`` or ``/items``, let alone a number. So
the schema of a tool that takes ``data`` becomes one form for each thing that it can show: a column
of numbers by a column of names, a table, a value. A form begins with its title, made of the names
in the data, so a small model chooses by the words and no title says what is not shown; the id
follows from the place. What was tried before is left out while there is more: a small model repeats
itself. The gate judges the call as any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

from artificer.artifacts.binding.bind import inner
from artificer.artifacts.binding.bindable import CITING, takes_data
from artificer.artifacts.binding.fill import FILLS, Fill
from artificer.artifacts.binding.shape import Column, DataShape, Place
from artificer.artifacts.binding.shape_line import read_line
from artificer.artifacts.tool_names import within
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, JsonValue
from artificer.values.blocks import Message, ToolResultBlock
from artificer.values.strict_json import parse_object

MAX_FORMS = 12
MAX_SHOWN = 12
"""Rows of a chart or a list: the first ones. A chart over time shows as many as it holds."""

_NUMBERS = frozenset({"number", "number in text"})
_LINES = frozenset({"create_line_chart", "create_area_chart"})
"""Charts over time: where there are dates, they take nothing else."""


class NamedData(NamedTuple):
    """Results by label, each with its shape, and the places that calls have tried."""

    shapes: tuple[tuple[str, DataShape], ...] = ()
    tried: frozenset[tuple[str, str]] = frozenset()


def named_in(messages: Sequence[Message]) -> NamedData:
    """Return what the results of a conversation have named."""
    lines = [
        block.content.rpartition("\n")[2]
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.status == "ok"
    ]
    tried = [
        _tried(call.name, parse_object(call.arguments))
        for message in messages
        for call in message.calls
    ]
    return NamedData(
        tuple(found for line in lines if (found := read_line(line)) is not None),
        frozenset(place for place in tried if place is not None),
    )


def bound(tool: ToolDefinition, named: NamedData) -> JsonObject | None:
    """Return the schema of a tool that can be bound to what was named; None if it cannot."""
    if not takes_data(tool):
        return None
    fill = FILLS.get(tool.name)
    found = list(_values(named) if fill is None else _rows(tool.name, fill, named))
    fresh = [view for view in found if (view.label, view.pointer) not in named.tried] or found
    forms: list[JsonValue] = [_form(tool.name, view) for view in fresh[:MAX_FORMS]]
    if not forms:
        return None
    return {"anyOf": forms} if len(forms) > 1 else _form(tool.name, fresh[0])


def _tried(name: str, arguments: object) -> tuple[str, str] | None:
    """Return the label and the pointer of a binding as a model wrote it."""
    known = name in FILLS or name == CITING
    if not known or not isinstance(arguments, dict):
        return None
    data = inner(name, arguments).get("data")
    if not isinstance(data, dict):
        return None
    return str(data.get("call")), str(data.get("rows", data.get("at", "")))


class View(NamedTuple):
    """One thing that a tool can show: where it is, the rest of the binding, and its titles."""

    label: str
    pointer: str
    data: JsonObject
    titles: tuple[str, ...]


def _values(named: NamedData) -> Iterator[View]:
    for label, shape in named.shapes:
        for value in shape.values:
            if value.type in _NUMBERS:
                name = _words(value.name.rpartition("/")[2])
                titles = (_title(name), _title(f"number of {name}"))
                yield View(label, value.name, {"call": label, "at": value.name}, titles)


def _rows(name: str, fill: Fill, named: NamedData) -> Iterator[View]:
    found = [(label, place) for label, shape in named.shapes for place in shape.places]
    if name in _LINES:
        found = [each for each in found if _names(name, each[1])[1]] or found
    for label, place in found:
        start: JsonObject = {"call": label, "rows": place.pointer}
        for data, titles in _shown(name, fill, place):
            yield View(label, place.pointer, start | data | _first(name, fill, place), titles)


def _shown(name: str, fill: Fill, place: Place) -> Iterator[tuple[JsonObject, tuple[str, ...]]]:
    """Yield the columns that a tool can show of a place, with titles that say which."""
    numbers = _named(place.columns, _NUMBERS)
    names, _ = _names(name, place)
    if name == "create_table":
        columns = [*names, *(it.name for it in place.columns if it.name not in names)]
        what = _words(place.pointer.rpartition("/")[2]) or "all rows"
        titles = _title(what), _title(f"{what} in detail")
        yield {"values": _picks(*columns[: fill.limit])}, titles
    elif not fill.labelled:
        for x, y in permutations(numbers, 2):
            yield {"values": _picks(x, y)}, (_title(f"{_words(y)} against {_words(x)}"),)
    else:
        for by, column in product(names, numbers):
            of, each = _words(column), _words(by)
            titles = _title(f"{of} by {each}"), _title(f"{of} for each {each}")
            yield {"label": by, "values": _picks(column)}, titles


def _picks(*columns: str) -> list[JsonValue]:
    return [{"column": column} for column in columns]


def _first(name: str, fill: Fill, place: Place) -> JsonObject:
    """Return how many rows to take, where there are more than a tool shows."""
    longest = fill.rows if name in _LINES or not fill.labelled else min(fill.rows, MAX_SHOWN)
    return {"top": {"n": longest}} if place.rows > longest else {}


def _names(name: str, place: Place) -> tuple[list[str], bool]:
    """Return the columns that can name the rows, and whether they are dates."""
    dates, texts = _named(place.columns, {"date"}), _named(place.columns, {"text"})
    if name in _LINES and dates:
        return dates, True
    return texts + dates, False


def _named(columns: Sequence[Column], types: frozenset[str] | set[str]) -> list[str]:
    return [column.name for column in columns if column.type in types]


# --- forms ------------------------------------------------------------------------------------


def _form(tool: str, view: View) -> JsonObject:
    """Return the schema of the arguments of one call."""
    members: JsonObject = {
        "title": {"enum": [*view.titles]},
        "data": {"const": view.data},
        "id": {"const": _id(view)},
    }
    if tool == CITING:
        return _closed({**members, "format": {"const": {"style": "grouped"}}})
    member = within(tool)
    if not member:
        return _closed(members)
    return _closed({member: _closed({"kind": {"const": member}, **members})})


def _closed(members: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": members,
        "required": [*members],
        "additionalProperties": False,
    }


def _id(view: View) -> str:
    """Return an id that says what is shown: the last step of the pointer, or the tool."""
    for text in (view.pointer.rpartition("/")[2], view.label.partition("#")[0]):
        slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
        if slug[:1].isalpha():
            return slug[:40].rstrip("-")
    return "data"


def _words(name: str) -> str:
    """Return a name of the data as words, without digits: they would be numbers of no source."""
    return " ".join(re.findall(r"[^\W\d_]+", name))


def _title(words: str) -> str:
    text = " ".join(words.split())[:80].strip() or "data"
    return text[0].upper() + text[1:]
