"""Exact numbers: decimals from the text of a source, and how they are written in a payload.

A number is never a float on the way. Sums are exact; a mean is rounded once, to 15 digits, half to
even. Texts and exponents are bounded, so that no number can fill a memory.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

from artificer.values.base import JsonValue
from artificer.values.canon import MAX_SAFE_INTEGER

LONGEST_NUMBER = 100
"""Characters of a number; longer ones are text."""

LARGEST_EXPONENT = 400
"""Numbers from 1e-400 to 1e400 are numbers; others are text."""

SHOWN_DIGITS = 15
"""Significant digits of a mean, and of a number in a chart that a double cannot hold as it is."""

_ADDING = Context(prec=1000, rounding=ROUND_HALF_EVEN)
_SHOWING = Context(prec=SHOWN_DIGITS, rounding=ROUND_HALF_EVEN)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch

DataCell = str | bool | Decimal | None
"""The content of a column in one row; an array or object counts as its canonical JSON text."""


def decimal_of(text: str) -> Decimal | None:
    """Return the number that a JSON number's text stands for, or None for any other text.

    No white space, no separators, no NaN, no infinity: ``-12.50e3`` is all there is. A leading
    zero is not a number either, for it may be an identifier.
    """
    if not text or len(text) > LONGEST_NUMBER or not _NUMBER(text):
        return None
    value = Decimal(text)
    if value and abs(value.adjusted()) > LARGEST_EXPONENT:
        return None
    if not value and abs(int(value.as_tuple().exponent)) > LARGEST_EXPONENT:
        return Decimal(0)
    return value


def number_in(cell: DataCell) -> Decimal | None:
    """Return the number in a cell: a number, or text that is written as one."""
    if isinstance(cell, str):
        return decimal_of(cell)
    return cell if isinstance(cell, Decimal) else None


def is_empty(cell: DataCell) -> bool:
    """Return whether a cell has no content. To compare a number with a text takes long."""
    return cell is None or (isinstance(cell, str) and not cell)


def total(numbers: list[Decimal]) -> Decimal:
    """Return the exact sum."""
    result = Decimal(0)
    for number in numbers:
        result = _ADDING.add(result, number)
    return result


def mean(numbers: list[Decimal]) -> Decimal:
    """Return the mean, rounded once to 15 digits."""
    return _SHOWING.divide(total(numbers), Decimal(len(numbers)))


def rounded(number: Decimal, digits: int) -> Decimal:
    """Return the number with at most so many decimals, half to even."""
    if int(number.as_tuple().exponent) >= -digits:
        return number
    return _ADDING.quantize(number, Decimal(1).scaleb(-digits))


def plain(number: Decimal) -> str:
    """Return all digits of a number, with an exponent only where it has very many."""
    if not number:
        return "0"
    exponent = int(number.as_tuple().exponent)
    if -40 <= exponent <= 40 and number.adjusted() <= 40:
        return f"{number:f}"
    return f"{number.normalize(_ADDING)}".replace("E", "e")


def as_double(number: Decimal) -> int | float | None:
    """Return the JSON number that is exactly this number, or None where no double is."""
    if number == number.to_integral_value():
        return int(number) if abs(number) <= MAX_SAFE_INTEGER else None
    value = float(number)
    return value if Decimal(repr(value)) == number else None


def cut(number: Decimal) -> Decimal:
    """Return the number with 15 significant digits."""
    return _SHOWING.plus(number)


def as_cell(cell: DataCell) -> JsonValue:
    """Return a table's cell: a number that a double holds, else the exact digits as text."""
    if not isinstance(cell, Decimal):
        return cell
    found = as_double(cell)
    return plain(cell) if found is None else found


def as_text(cell: DataCell) -> str:
    """Return a cell as text: a label, or one side of a comparison of texts."""
    if isinstance(cell, Decimal):
        return plain(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell or ""
