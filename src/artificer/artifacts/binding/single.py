"""A single cited value: what it is, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from unicodedata import category

from artificer.artifacts.binding.form import VERSION, Aggregate, CitedData
from artificer.artifacts.binding.frame import BindingError, listed
from artificer.artifacts.binding.numbers import DataCell, as_text, number_in, plain, rounded
from artificer.artifacts.binding.operations import accepts, calculated
from artificer.artifacts.binding.resolved import BindingProblems, ResolvedBinding
from artificer.artifacts.binding.rows import (
    NoSuchPlace,
    Rows,
    fault_of_pointer,
    follow,
    missing_hint,
    rows_at,
)
from artificer.artifacts.binding.sources import Sources
from artificer.values.base import JsonObject, Problem
from artificer.values.text import clip

MAX_VALUE = 200
"""Characters of a cited value."""


def resolve_value(
    data: CitedData, form: JsonObject, sources: Sources, at: str
) -> ResolvedBinding | BindingProblems:
    """Return ``value`` and ``shown``, and what is recorded of the binding; or its problems."""
    source = sources.read(data.call, f"{at}/call")
    if isinstance(source, Problem):
        return BindingProblems((source,))
    try:
        cell = (
            _at(source.value, data, at) if data.at is not None else _of_rows(source.value, data, at)
        )
    except BindingError as refused:
        return BindingProblems(refused.problems)
    number = number_in(cell)
    if number is not None and data.round is not None:
        cell = number = rounded(number, data.round)
    text = as_text(cell)
    if len(text) > MAX_VALUE or not text.strip():
        message = "leads to an empty value" if not text.strip() else "leads to a long text"
        problem = Problem(pointer=at, message=message, limit=MAX_VALUE, actual=len(text))
        return BindingProblems((problem,))
    shown = text if number is None else formatted(number, form)
    recorded: JsonObject = {"version": VERSION, "digest": source.digest}
    members: JsonObject = {"value": text, "shown": shown}
    return ResolvedBinding(members, recorded)


def form_problems(form: JsonObject, at: str) -> Iterator[Problem]:
    """Yield problems for a unit that could pass for a part of the number."""
    for member in ("prefix", "suffix"):
        text = form.get(member)
        if isinstance(text, str) and not all(_may_stand_by(c) for c in text):
            message = "may hold letters, spaces, currency signs and % ‰ ° / only"
            yield Problem(pointer=f"{at}/{member}", message=message, actual=clip(text, 40))


def _may_stand_by(character: str) -> bool:
    return character in "%‰°/ " or category(character)[0] == "L" or category(character) == "Sc"


def formatted(number: Decimal, form: JsonObject) -> str:
    """Return the number as it is shown: the same digits everywhere, in no locale."""
    if form.get("style") == "percent":
        number = number.scaleb(2)
    text = plain(number)
    if form.get("style") == "grouped" and "e" not in text:
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        whole, point, fraction = digits.partition(".")
        text = f"{sign}{int(whole):,}{point}{fraction}"
    percent = "%" if form.get("style") == "percent" else ""
    return f"{form.get('prefix', '')}{text}{percent}{form.get('suffix', '')}"


def _at(root: object, data: CitedData, at: str) -> DataCell:
    pointer = data.at or ""
    unused = ("rows", "columns", "where", "calculate", "column")
    for member in unused:
        if getattr(data, member):
            message = "does not go with at: give one place, or rows to calculate from"
            raise BindingError(Problem(pointer=f"{at}/{member}", message=message))
    if fault := fault_of_pointer(pointer):
        raise BindingError(Problem(pointer=f"{at}/at", message=fault, actual=clip(pointer, 80)))
    found = follow(root, pointer)
    if isinstance(found, NoSuchPlace):
        names = found.value if isinstance(found.value, dict) else {}
        inside = f". There are: {listed(tuple(names))}" if names else ""
        message = missing_hint(found, root) + inside
        raise BindingError(Problem(pointer=f"{at}/at", message=message, actual=clip(pointer, 80)))
    if found is None or isinstance(found, (dict, list)):
        kind = "nothing" if found is None else "more than one value"
        inside = f": {listed(tuple(found))}" if isinstance(found, dict) else ""
        message = f"leads to {kind}{inside}"
        raise BindingError(Problem(pointer=f"{at}/at", message=message, actual=clip(pointer, 80)))
    cell: DataCell = found
    return cell


def _of_rows(root: object, data: CitedData, at: str) -> DataCell:
    if data.calculate is None:
        message = "is missing: give at, the place of a value, or calculate, what to make of rows"
        raise BindingError(Problem(pointer=f"{at}/at", message=message))
    rows = rows_at(root, data.rows, data.columns, at)
    if not isinstance(rows, Rows):
        raise BindingError(*rows)
    used = [(c.column, f"{at}/where/{n}/column") for n, c in enumerate(data.where)]
    if data.column or data.calculate != "count":
        used.append((data.column, f"{at}/column"))
    unknown = [
        Problem(
            pointer=where,
            message=f"is not a column. Columns: {listed(rows.columns)}",
            actual=column[:80],
        )
        for column, where in used
        if not rows.has(column)
    ]
    if unknown:
        raise BindingError(*unknown)
    kept = list(range(len(rows.items)))
    for condition in data.where:
        cells = rows.column(condition.column, kept)
        kept = [n for n, cell in zip(kept, cells, strict=True) if accepts(condition, cell)]
    if not data.column:
        return Decimal(len(kept))
    cells = rows.column(data.column, kept)
    found = calculated(
        Aggregate(calculate=data.calculate, column=data.column), cells, f"{at}/column"
    )
    if found is None:
        message = f"has no {data.calculate}: no row is left"
        raise BindingError(Problem(pointer=at, message=message))
    return found
