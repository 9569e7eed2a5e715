"""An independent evaluator of bindings: slow, plain, with fractions, and without our own code.

It reads the recorded binding and the bytes of the source, and says what has to be shown. It trusts
that the binding has no problem, and shares nothing with the room it checks but the documentation.
"""

from __future__ import annotations

import datetime
import decimal
import json
import re
from fractions import Fraction
from typing import Any

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Number(str):
    """A JSON number, by its text."""


def fraction(cell: Any) -> Fraction | None:
    """The number that a cell stands for, exactly."""
    if not isinstance(cell, str) or len(cell) > 100 or not _NUMBER.fullmatch(cell):
        return None
    digits, _, exponent = cell.lower().partition("e")
    power = int(exponent or 0)
    mantissa = Fraction(digits)
    if mantissa == 0:
        return mantissa
    if abs(power) > 2000:
        return None
    value = mantissa * Fraction(10) ** power
    return value if _magnitude(value) in range(-400, 401) else None


def _magnitude(value: Fraction) -> int:
    """The exponent of the first digit."""
    value, power = abs(value), 0
    while value >= 10:
        value, power = value / 10, power + 1
    while value < 1:
        value, power = value * 10, power - 1
    return power


def half_even(value: Fraction, step: Fraction) -> Fraction:
    """The multiple of a step that is nearest; of two, the even one."""
    whole, rest = divmod(value, step)
    if rest * 2 > step or (rest * 2 == step and whole % 2 == 1):
        whole += 1
    return whole * step


def digits15(value: Fraction) -> Fraction:
    """The number with 15 significant digits."""
    return half_even(value, Fraction(10) ** (_magnitude(value) - 14)) if value else value


def load(data: bytes) -> Any:
    return json.loads(data, parse_int=Number, parse_float=Number)


def at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def table(source: Any, data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a source as dictionaries."""
    found = at(source, data.get("rows", ""))
    if isinstance(found, dict):
        return [{"label": name, "value": member} for name, member in found.items()]
    rows = []
    for item in found:
        if isinstance(item, dict):
            rows.append(item)
        elif isinstance(item, list):
            names = data.get("columns") or [str(n + 1) for n in range(len(item))]
            rows.append(dict(zip(names, item, strict=False)))
        else:
            rows.append({"value": item})
    return rows


def cell(row: dict[str, Any], column: str) -> Any:
    if column in row or not column.startswith("/"):
        return row.get(column)
    try:
        return at(row, column)
    except (KeyError, IndexError, ValueError, TypeError):
        return None


def text(value: Any) -> str:
    """A cell as text. Numbers are compared by value elsewhere, so any spelling of them will do."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value) if isinstance(value, Number) and fraction(value) is not None else str(value)


def plain(number: str) -> str:
    """All digits of a number; an exponent only where there are very many."""
    if fraction(number) == 0:
        return "0"
    mantissa, _, exponent = number.lower().partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, part = mantissa.partition(".")
    digits, shift = whole + part, int(exponent or 0) - len(part)
    if not -40 <= shift <= 40 or len(digits.lstrip("0")) - 1 + shift > 40:
        return str(decimal.Decimal(number).normalize(decimal.Context(prec=1000))).replace("E", "e")
    if shift >= 0:
        return sign + (digits + "0" * shift).lstrip("0")
    digits = digits.rjust(1 - shift, "0")
    return sign + (digits[:shift].lstrip("0") or "0") + "." + digits[shift:]


def _operand(value: Any) -> Any:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return Number(json.dumps(value)) if plain else value


def _equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, Number) or isinstance(right, Number):
        found = fraction(left)
        return found is not None and found == fraction(right)
    return text(left) == text(right)


def keeps(row: dict[str, Any], condition: dict[str, Any]) -> bool:
    left, op = cell(row, condition["column"]), condition["op"]
    right = _operand(condition.get("value"))
    tests = {
        "empty": lambda: left in (None, ""),
        "not empty": lambda: left not in (None, ""),
        "in": lambda: any(_equal(left, _operand(value)) for value in condition["values"]),
        "contains": lambda: left is not None and text(right) in text(left),
        "=": lambda: _equal(left, right),
        "!=": lambda: not _equal(left, right),
    }
    return tests[op]() if op in tests else _before_or_after(left, op, right)


def _before_or_after(left: Any, op: str, right: Any) -> bool:
    if left is None:
        return False
    a, b = fraction(left), fraction(right)
    if a is None or b is None:
        if isinstance(left, Number) or isinstance(right, Number):
            return False
        a, b = text(left), text(right)  # type: ignore[assignment]
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]  # type: ignore[operator]


def span(value: Any, unit: str) -> str:
    day = datetime.date.fromisoformat(text(value)[:10])
    year, week, _ = day.isocalendar()
    return {
        "day": day.isoformat(),
        "week": f"{year:04}-W{week:02}",
        "month": day.isoformat()[:7],
        "quarter": f"{day.year:04}-Q{(day.month - 1) // 3 + 1}",
        "year": f"{day.year:04}",
    }[unit]


def aggregate(what: str, cells: list[Any], *, rows: bool) -> Any:
    """A number made of cells. What it returns is a fraction, or None."""
    if rows:
        return Fraction(len(cells))
    full = [c for c in cells if c not in (None, "")]
    if what == "count":
        return Fraction(len(full))
    numbers = [fraction(c) for c in full]
    assert None not in numbers
    if what == "sum":
        return sum(numbers, Fraction(0))  # type: ignore[arg-type]
    if not numbers:
        return None
    if what == "mean":
        return digits15(sum(numbers, Fraction(0)) / len(numbers))  # type: ignore[arg-type]
    return min(numbers) if what == "min" else max(numbers)  # type: ignore[type-var]


def _same_group(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Number) != isinstance(right, Number):
        return False
    if isinstance(left, Number) and fraction(left) is not None:
        return fraction(left) == fraction(right)
    return bool(left == right)


def group(
    rows: list[dict[str, Any]], form: dict[str, Any], across: str = ""
) -> list[dict[str, Any]]:
    groups: list[tuple[Any, list[dict[str, Any]]]] = []
    for row in rows:
        key = cell(row, form["by"])
        if form.get("date") and key is not None:
            key = span(key, form["date"])
        for known, members in groups:
            second = not across or _same_group(cell(members[0], across), cell(row, across))
            if _same_group(known, key) and second:
                members.append(row)
                break
        else:
            groups.append((key, [row]))
    if form.get("date"):
        groups.sort(key=lambda pair: (pair[0] is None, text(pair[0])))
    result = []
    columns = [v.get("column", "") for v in form["values"]]
    for key, members in groups:
        made: dict[str, Any] = {form["by"]: key}
        if across:
            made[across] = cell(members[0], across)
        for value, column in zip(form["values"], columns, strict=True):
            several = columns.count(column) > 1
            own = f"{value['calculate']} of {column}" if several else column
            name = value.get("name") or own or value["calculate"]
            cells = [cell(member, column) if column else None for member in members]
            made[name] = aggregate(value["calculate"], cells, rows=not column)
        result.append(made)
    return result


def number(value: Any) -> Fraction | None:
    return value if isinstance(value, Fraction) else fraction(value)


def order(rows: list[dict[str, Any]], column: str, *, descending: bool) -> list[dict[str, Any]]:
    """Insertion sort, so that nothing depends on a library's."""
    full = [row for row in rows if cell(row, column) not in (None, "")]
    empty = [row for row in rows if cell(row, column) in (None, "")]
    numeric = all(number(cell(row, column)) is not None for row in full)
    result: list[dict[str, Any]] = []
    for row in full:
        own = number(cell(row, column)) if numeric else text(cell(row, column))
        place = len(result)
        while place:
            before = result[place - 1]
            other = number(cell(before, column)) if numeric else text(cell(before, column))
            if not (other < own if descending else other > own):  # type: ignore[operator]
                break
            place -= 1
        result.insert(place, row)
    return [*result, *empty]


def top(rows: list[dict[str, Any]], form: dict[str, Any], label: str) -> list[dict[str, Any]]:
    if form.get("by"):
        rows = order(rows, form["by"], descending=True)
    kept, rest = rows[: form["n"]], rows[form["n"] :]
    if not form.get("other") or not rest:
        return kept
    return [*kept, {"\x00rest": rest, label: form["other"]}]


def value_of(row: dict[str, Any], column: str, digits: int | None) -> Any:
    """The content that is shown of a row: a fraction where it is a number, else the cell."""
    if "\x00rest" in row and column not in row:
        cells = [cell(member, column) for member in row["\x00rest"]]
        full = [c for c in cells if c not in (None, "")]
        numbers = [number(c) for c in full]
        found: Any = sum(numbers, Fraction(0)) if full and None not in numbers else None  # type: ignore[arg-type]
    else:
        found = cell(row, column)
    as_number = number(found)
    if as_number is None:
        return found
    return as_number if digits is None else half_even(as_number, Fraction(1, 10**digits))


def evaluate(source: bytes, data: dict[str, Any], label: str) -> list[dict[str, Any]]:
    """The rows of a binding, in order."""
    rows = table(load(source), data)
    rows = [row for row in rows if all(keeps(row, c) for c in data.get("where", []))]
    if data.get("group"):
        rows = group(rows, data["group"], data.get("across", ""))
    for key in reversed(data.get("sort", [])):
        rows = order(rows, key["by"], descending=key.get("descending", False))
    if data.get("top"):
        rows = top(rows, data["top"], label)
    return rows


def shown(value: Any) -> Fraction | None:
    """The number that a payload's JSON number stands for."""
    return Fraction(json.dumps(value)) if not isinstance(value, bool) else None
