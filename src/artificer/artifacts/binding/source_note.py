"""The sentence under a figure that says where its numbers come from.

It is made from the recorded binding alone, so the page shows what a replay computes again. Names of
columns come from the data, and other names from the model; both are shown in a way that no name can
pass for a part of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import category

from artificer.artifacts.binding.form import CitedData, Data, RowCondition, RowGroup
from artificer.artifacts.binding.numbers import decimal_of
from artificer.values.base import JsonObject, JsonValue
from artificer.values.text import clip

TYPED = "Numbers typed by the model."
"""The sentence of a figure whose numbers do not come from a result."""

_RECORDED = ("version", "digest", "digits")
_LONGEST = 48
_MAX_LISTED = 5
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./")


def source_note(payload: JsonObject) -> str:
    """Return the sentence for an artifact's payload; empty for one without numbers."""
    data = payload.get("data")
    if not isinstance(data, dict):
        return TYPED if any(_numbers(payload)) else ""
    written = {name: member for name, member in data.items() if name not in _RECORDED}
    single = "value" in payload and "shown" in payload
    done = list(_cited(written) if single else _bound(written))
    if "digits" in data:
        done.append(f"to {data['digits']} digits")
    tool, _, number = str(data.get("call", "")).rpartition("#")
    digest = str(data.get("digest", "")).removeprefix("sha256:")[:12]
    head = f"Data: {word(tool)}, call {number}"
    body = f"{head}: {'; '.join(done)}" if done else f"{head}, unaltered"
    return f"{body} (sha256:{digest}…).{_words_of_the_model(payload)}"


def is_bound(payload: JsonObject) -> bool:
    """Return whether the payload comes from a binding."""
    return isinstance(payload.get("data"), dict)


def word(name: str) -> str:
    """Return a name as it is shown in a sentence: in quotation marks unless it is a plain word."""
    if name and len(name) <= _LONGEST and _BARE.issuperset(name):
        return name
    seen = "".join(
        "\ufffd" if category(c)[0] == "C" or category(c) in ("Zl", "Zp") else c for c in name
    )
    seen = seen.replace("“", '"').replace("”", '"')
    return f"“{clip(seen, _LONGEST)}”"


def _bound(written: JsonObject) -> Iterator[str]:
    """Yield what was done to the rows, in the order in which it was done."""
    data = Data.from_json(written)
    yield from _conditions(data.where)
    if data.group:
        yield _group(data.group)
    if data.sort:
        keys = (word(k.by) + (", descending" if k.descending else "") for k in data.sort)
        yield f"sorted by {' and '.join(keys)}"
    if data.top:
        by = f" by {word(data.top.by)}" if data.top.by else ""
        other = f", other rows summed as {word(data.top.other)}" if data.top.other else ""
        yield f"top {data.top.n}{by}{other}"
    if data.round is not None:
        yield f"rounded to {_decimals(data.round)}"
    for pick in data.values:
        if pick.name and pick.name != pick.column:
            yield f"column {word(pick.column)} shown as {_quoted(pick.name)}"


def _cited(written: JsonObject) -> Iterator[str]:
    data = CitedData.from_json(written)
    if data.at is not None:
        yield f"the value at {word(data.at)}" if data.at else "the whole result"
    else:
        of = f" of {word(data.column)}" if data.column else " of rows"
        yield f"{data.calculate}{of}"
        yield from _conditions(data.where)
    if data.round is not None:
        yield f"rounded to {_decimals(data.round)}"


def _conditions(conditions: tuple[RowCondition, ...]) -> Iterator[str]:
    if conditions:
        yield f"rows where {' and '.join(map(_condition, conditions))}"


def _condition(condition: RowCondition) -> str:
    column = word(condition.column)
    if condition.op in ("empty", "not empty"):
        return f"{column} is {condition.op}"
    if condition.op == "in":
        shown = [_value(value) for value in condition.values[:_MAX_LISTED]]
        left = len(condition.values) - len(shown)
        return f"{column} is one of {', '.join(shown)}" + (f" and {left} more" if left else "")
    return f"{column} {condition.op} {_value(condition.value)}"


def _value(value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    shown = word(text)
    return shown if shown.startswith("“") else f"“{shown}”"


def _group(group: RowGroup) -> str:
    numbers = ", ".join(
        f"{a.calculate} of {word(a.column) if a.column else 'rows'}"
        + (f" as {_quoted(a.name)}" if a.name and a.name != a.column else "")
        for a in group.values
    )
    each = f" ({group.date})" if group.date else ""
    return f"grouped by {word(group.by)}{each}: {numbers}"


def _decimals(digits: int) -> str:
    return f"{digits} decimal{'' if digits == 1 else 's'}"


_TYPED = {
    "title": "title",
    "label_title": "axis titles",
    "value_title": "axis titles",
    "x_title": "axis titles",
    "y_title": "axis titles",
    "line_title": "axis titles",
    "column_title": "axis titles",
    "row_title": "axis titles",
    "unit": "unit",
    "x_unit": "unit",
    "y_unit": "unit",
    "references": "reference lines",
    "source": "source",
}
"""The members of a bound artifact that the model wrote, in words for a reader."""


def _words_of_the_model(payload: JsonObject) -> str:
    """Return a sentence about what a reader may take for data and is not."""
    form = payload.get("format")
    unit = isinstance(form, dict) and (form.get("prefix") or form.get("suffix"))
    found = dict.fromkeys(word for member, word in _TYPED.items() if payload.get(member))
    if unit:
        found["unit"] = None
    *others, last = found or ("",)
    named = f"{', '.join(others)} and {last}" if others else last
    return f" The {named}: words of the model." if named else ""


def _numbers(payload: JsonObject) -> Iterator[bool]:
    """Yield true for each number, or text that is one, that a chart or a table shows."""
    for member in ("segments", "series", "values", "rows"):
        waiting: list[JsonValue] = [payload.get(member)]
        while waiting:
            item = waiting.pop()
            if isinstance(item, dict):
                waiting += [value for name, value in item.items() if name not in ("name", "label")]
            elif isinstance(item, list):
                waiting += item
            elif isinstance(item, str):
                if decimal_of(item.strip()) is not None:
                    yield True
            elif isinstance(item, int | float) and not isinstance(item, bool):
                yield True
