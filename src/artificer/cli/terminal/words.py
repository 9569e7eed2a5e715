"""Numbers, times and statuses in words."""

from __future__ import annotations

from datetime import UTC, datetime

from artificer.values.base import Problem
from artificer.values.model import Usage


def duration(ms: int) -> str:
    """Return ``12 ms``, ``1.2 s``, ``3 min 05 s``."""
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, rest = divmod(round(ms / 1000), 60)
    return f"{minutes} min {rest:02} s"


def count(number: int, noun: str) -> str:
    """Return ``1 turn``, ``1,234 turns``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tokens(usage: Usage) -> str:
    """Return ``1,234 tokens in (200 cached), 56 out``."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"


def sum_of(usage: Usage) -> str:
    """Return ``1,290``, the tokens in and out."""
    return f"{usage.input_tokens + usage.output_tokens:,}"


def problem_text(problem: Problem) -> str:
    """Return ``/data/label: is not a column``: where a call's arguments are wrong, and how."""
    return f"{problem.pointer or 'arguments'}: {problem.message}"


def cost(micros: int | None) -> str:
    """Return ``$0.0123``, or nothing if the price is unknown."""
    return "" if micros is None else f"${micros / 1_000_000:.4f}"


def milliseconds(time: datetime | None) -> int | None:
    """Return a time of UTC that someone has typed as milliseconds since 1970.

    An earlier one is 0: nothing is recorded before 1970.
    """
    return None if time is None else max(0, int(time.replace(tzinfo=UTC).timestamp() * 1000))


def joined(*parts: str) -> str:
    """Join the parts that are not empty with dots."""
    return " · ".join(part for part in parts if part)
