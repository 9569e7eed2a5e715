"""Prices of tokens, as a run records them."""

from __future__ import annotations

from typing import Annotated

from artificer.values.base import CheckedValue, Meta
from artificer.values.model import Usage

Micros = Annotated[int, Meta(ge=0)]


class Price(CheckedValue):
    """Micro-dollars per million tokens: 3 dollars a million are 3_000_000.

    Input that is read from a cache (``cached``) or written to it (``written``) costs as much as
    other input where that is not given.
    """

    input: Micros
    output: Micros
    cached: Micros | None = None
    written: Micros | None = None

    def micros(self, usage: Usage) -> int:
        """Cost in micro-dollars, rounded up."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
        total = fresh * self.input + usage.cached_tokens * cached + usage.written_tokens * written
        return -(-(total + usage.output_tokens * self.output) // 1_000_000)
