"""Dates in ISO 8601, as the labels of a time axis: years, months, days or minutes, in UTC.

Only these forms are read, so that a date means the same in every place and on every machine.
"""

from __future__ import annotations

import re

_FORM = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?Z?)?)?)?"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def milliseconds(text: str) -> int | None:
    """Return the milliseconds since 1970 of a date's beginning, or None if it is not a date."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else default
        for part, default in zip(found.groups(), (0, 1, 1, 0, 0, 0), strict=True)
    )
    if not 1 <= month <= 12 or not 1 <= day <= _days(year, month):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    hours = _days_since_1970(year, month, day) * 24 + hour
    return ((hours * 60 + minute) * 60 + second) * 1000


def _days(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _DAYS[month - 1]


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_since_1970(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 in the Gregorian calendar, also before 1582."""
    before = year - 1
    years = 365 * before + before // 4 - before // 100 + before // 400
    months = sum(_days(year, m) for m in range(1, month))
    return years + months + day - 1 - 719_162
