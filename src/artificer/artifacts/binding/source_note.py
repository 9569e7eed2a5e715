"""The sentence under a figure that says where its numbers come from.

It is made from the recorded binding alone, so the page shows what a replay computes again. Names of
columns come from the data, and other names from the model; both are shown in a way that no name can
pass for a part of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from unicodedata import category

from artificer.artifacts.binding.form import CitedData, Data, RowCondition, RowGroup, default_name
from artificer.artifacts.binding.numbers import decimal_of
from artificer.artifacts.tool_names import payload_of
from artificer.values.base import JsonObject, JsonValue
from artificer.values.text import clip

_RECORDED = ("version", "digest", "digits")
_LONGEST = 48
_MAX_LISTED = 5
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./")


Phrases = Mapping[str, str]
"""Phrases by name, with {0} and {1} for what is filled in. A page has those of its language."""


def source_note_of(tool: str, arguments: JsonObject, words: Phrases) -> str:
    """Return the sentence that says where the numbers of stored arguments come from."""
    return source_note(payload_of(tool, arguments) or {}, words)


def source_note(payload: JsonObject, words: Phrases) -> str:
    """Return the sentence for an artifact's payload; empty for one without numbers."""
    data = payload.get("data")
    if not isinstance(data, dict):
        typed = any(_numbers(payload)) or "shown" in payload
        return words["note_typed"] if typed else ""
    return _Note(payload, data, words).sentence()


def word(name: str) -> str:
    """Return a name as it is shown in a sentence: in quotation marks unless it is a plain word."""
    if name and len(name) <= _LONGEST and _BARE.issuperset(name):
        return name
    seen = "".join(
        "\ufffd" if category(c)[0] == "C" or category(c) in ("Zl", "Zp") else c for c in name
    )
    seen = seen.replace("“", '"').replace("”", '"')
    return f"“{clip(seen, _LONGEST)}”"


class _Note:
    """The sentence about one binding, in the words of one language."""

    def __init__(self, payload: JsonObject, data: JsonObject, words: Phrases) -> None:
        self._payload, self._data, self._words = payload, data, words

    def _say(self, name: str, *values: object) -> str:
        return self._words[f"note_{name}"].format(*values)

    def sentence(self) -> str:
        data = self._data
        written = {name: member for name, member in data.items() if name not in _RECORDED}
        if "value" in self._payload and "shown" in self._payload:
            done, seen = list(self._cited(CitedData.from_json(written))), ""
        else:
            binding = Data.from_json(written)
            done, seen = list(self._operations(binding)), self._seen(binding)
        if "digits" in data:
            done.append(self._say("digits", data["digits"]))
        tool, _, number = str(data.get("call", "")).rpartition("#")
        digest = str(data.get("digest", "")).removeprefix("sha256:")[:12]
        head = self._say("data", word(tool), number)
        if not done:
            head += f", {self._words['note_unaltered']}"
        parts = "; ".join(filter(None, (*done, seen)))
        return f"{head}{f': {parts}' if parts else ''} (sha256:{digest}…)."

    def _operations(self, data: Data) -> Iterator[str]:
        """Yield what was done to the rows, in the order in which it was done."""
        if data.columns:
            yield self._say("columns", self._listed([_quoted(name) for name in data.columns]))
        yield from self._conditions(data.where)
        if data.group:
            yield self._group(data.group, data.across)
        if data.sort:
            keys = [
                self._say("descending", word(k.by)) if k.descending else word(k.by)
                for k in data.sort
            ]
            yield self._say("sort", f" {self._words['note_and']} ".join(keys))
        if data.top:
            by = data.top.by
            top = self._say("top_by", data.top.n, word(by)) if by else self._say("top", data.top.n)
            yield self._say("other", top, word(data.top.other)) if data.top.other else top
        if data.round is not None:
            yield self._say("round", data.round)
        for pick in data.values:
            if (shown := pick.name or default_name(pick.column)) and shown != pick.column:
                yield self._say("shown", word(pick.column), _quoted(shown))

    def _seen(self, data: Data) -> str:
        """Return which rows and columns are shown: a chart may not name its columns."""
        columns = self._listed([word(pick.column) for pick in data.values])
        if self._payload.get("kind") == "table":
            columns = ""
        elif columns and data.label:
            columns = self._say("by", columns, self._both(data.label, data.across))
        place = self._say("at", word(data.rows)) if data.rows else ""
        return ", ".join(filter(None, (columns, place)))

    def _cited(self, data: CitedData) -> Iterator[str]:
        if data.at is not None:
            yield self._say("value", word(data.at)) if data.at else self._words["note_whole"]
        else:
            made = self._calculated(data.calculate or "", data.column)
            yield f"{made}, {self._say('at', word(data.rows))}" if data.rows else made
            if data.columns:
                yield self._say("columns", self._listed([_quoted(name) for name in data.columns]))
            yield from self._conditions(data.where)
        if data.round is not None:
            yield self._say("round", data.round)

    def _listed(self, shown: list[str]) -> str:
        text, left = ", ".join(shown[:_MAX_LISTED]), len(shown) - _MAX_LISTED
        return self._say("more", text, left) if left > 0 else text

    def _conditions(self, conditions: tuple[RowCondition, ...]) -> Iterator[str]:
        if conditions:
            joined = f" {self._words['note_and']} ".join(map(self._condition, conditions))
            yield self._say("where", joined)

    def _condition(self, condition: RowCondition) -> str:
        column = word(condition.column)
        if condition.op in ("empty", "not empty"):
            return self._say(condition.op.replace(" ", "_"), column)
        if condition.op == "in":
            return self._say("in", column, self._listed([*map(_value, condition.values)]))
        if condition.op == "contains":
            return self._say("contains", column, _value(condition.value))
        return f"{column} {condition.op} {_value(condition.value)}"

    def _both(self, first: str, second: str) -> str:
        names = [word(name) for name in (first, second) if name]
        return f" {self._words['note_and']} ".join(names)

    def _group(self, group: RowGroup, across: str) -> str:
        numbers = ", ".join(
            self._say("as", self._calculated(a.calculate, a.column), _quoted(a.name))
            if a.name and a.name != a.column
            else self._calculated(a.calculate, a.column)
            for a in group.values
        )
        by = self._both(group.by, across)
        if group.date:
            return self._say("group_date", by, self._words[f"note_{group.date}"], numbers)
        return self._say("group", by, numbers)

    def _calculated(self, calculation: str, column: str) -> str:
        of = word(column) if column else self._words["note_rows"]
        return self._say(calculation, of) if calculation else of


def _value(value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    shown = word(text)
    return shown if shown.startswith("“") else f"“{shown}”"


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
            elif isinstance(item, (int, float)) and not isinstance(item, bool):
                yield True
