"""Limits that are options."""

from __future__ import annotations

from typing import Any

from artificer.money import micros


def limits_in(
    turns: int | None = None, tokens: int | None = None, dollars: float | None = None
) -> dict[str, Any]:
    """Return the limits that the command line names."""
    named = {"turns": turns, "max_tokens": tokens, "cost_micros": micros(dollars)}
    return {name: limit for name, limit in named.items() if limit is not None}
