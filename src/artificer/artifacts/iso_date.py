"""Dates in ISO 8601, as the labels of a time axis: years, months, days or minutes, in UTC.

Only these forms are read, so that a date means the same in every place and on every machine.
"""

from __future__ import annotations

import re

from artificer.artifacts.binding.dates import day_number, days_in

_FORM = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?Z?)?)?)?"
)

_DAYS_TO_1970 = day_number(1970, 1, 1)


def milliseconds(text: str) -> int | None:
    """Return the milliseconds since 1970 of a date's beginning, or None if it is not a date."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else default
        for part, default in zip(found.groups(), (0, 1, 1, 0, 0, 0), strict=True)
    )
    if not 1 <= month <= 12 or not 1 <= day <= days_in(year, month):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    hours = (day_number(year, month, day) - _DAYS_TO_1970) * 24 + hour
    return ((hours * 60 + minute) * 60 + second) * 1000
