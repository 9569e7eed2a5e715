"""Rebuilding SVG from an allow-list."""

from __future__ import annotations

from artificer.values.base import Problem


def rebuild(markup: str, prefix: str) -> str | tuple[Problem, ...]:
    """Return safe markup whose ids begin with ``prefix``, or why there is none."""
    return (Problem(pointer="/svg/content", message="drawings are not accepted yet"),)
