"""The numbers that options take: those that every later step can compute with and record.

JSON has no larger whole numbers, a database has none of 65 bits, and NaN passes any range.
"""

from __future__ import annotations

import math
from typing import Any

import click

_HIGHEST = 2**53 - 1


class WholeOption(click.IntRange):
    """A whole number that can be recorded."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises BadParameter."""
        number = super().convert(value, param, ctx)
        if abs(number) > _HIGHEST:
            self.fail(f"{value} is too large: at most {_HIGHEST:,}.", param, ctx)
        return number


class RealOption(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
