"""Times, in milliseconds since 1970-01-01 UTC, as datetimes and as text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Literal


def utc_moment(at: int) -> datetime:
    """Return the time as a datetime."""
    return datetime.fromtimestamp(at / 1000, UTC)


def utc_text(at: int) -> str:
    """Return ``2026-11-21 23:45:31``, for people."""
    return f"{utc_moment(at):%Y-%m-%d %H:%M:%S}"


def utc_day(at: int) -> str:
    """Return ``2026-11-21``."""
    return utc_moment(at).date().isoformat()


def is_utc_day(text: str) -> bool:
    """Whether a text is a date as `utc_day` writes it."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def utc_timestamp(at: int, precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """Return ``2026-11-21T23:45:31+00:00``, as RFC 3339 has it."""
    return utc_moment(at).isoformat(timespec=precision)
