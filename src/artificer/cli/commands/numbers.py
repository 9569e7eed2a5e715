"""The numbers that options accept: those that every later step can compute with and record.

JSON readers round whole numbers above 2**53 - 1, a database has 64 bits for one, and NaN passes
every check of a range.
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
