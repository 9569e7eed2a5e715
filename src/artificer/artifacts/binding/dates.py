"""Date buckets: the day, week, month, quarter or year of an ISO 8601 date, as it is written.

A time zone is not converted: the day of ``2026-01-31T23:30:00+05:00`` is the one that it says.
"""

from __future__ import annotations

from typing import Literal

Bucket = Literal["day", "week", "month", "quarter", "year"]

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DIGITS = frozenset("0123456789")


def bucket_of(text: str, bucket: Bucket) -> str | None:
    """Return the name of the bucket, such as ``2026-W05``; None when the text is not a date.

    Names of one kind of bucket are in the order of time when they are in the order of text.
    """
    found = _date(text)
    if found is None:
        return None
    year, month, day = found
    match bucket:
        case "day":
            return text[:10]
        case "week":
            return _week(year, month, day)
        case "month":
            return text[:7]
        case "quarter":
            return f"{year:04}-Q{(month + 2) // 3}"
        case "year":
            return text[:4]


def _date(text: str) -> tuple[int, int, int] | None:
    """Read ``YYYY-MM-DD``, alone or before a ``T`` or a space and a time."""
    if len(text) < 10 or len(text) > 40 or text[4] != "-" or text[7] != "-":
        return None
    if len(text) > 10 and not (text[10] in "Tt " and len(text) > 12 and text[11] in _DIGITS):
        return None
    parts = (text[:4], text[5:7], text[8:10])
    if not all(_DIGITS.issuperset(part) for part in parts):
        return None
    year, month, day = map(int, parts)
    if year < 1 or not 1 <= month <= 12:
        return None
    return (year, month, day) if 1 <= day <= days_in(year, month) else None


def days_in(year: int, month: int) -> int:
    """Return the number of days of a month."""
    return 29 if month == 2 and _is_leap(year) else _MONTH_DAYS[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """Return the number of a day; day 1 is Monday, 1 January of the year 1.

    The calendar is the Gregorian one, also before 1582.
    """
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400
    return days + sum(_MONTH_DAYS[: month - 1]) + (month > 2 and _is_leap(year)) + day


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _week(year: int, month: int, day: int) -> str:
    """The ISO week: it belongs to the year of its Thursday."""
    ordinal = day_number(year, month, day)
    thursday = ordinal - (ordinal - 1) % 7 + 3
    of = year
    if thursday < day_number(year, 1, 1):
        of -= 1
    elif thursday >= day_number(year, 12, 31) + 1:
        of += 1
    return f"{of:04}-W{(thursday - day_number(of, 1, 1)) // 7 + 1:02}"
