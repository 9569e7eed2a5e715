"""Prices of tokens, as a run records them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from artificer.values.base import CheckedValue, Count, NaturalNumber
from artificer.values.model import Usage


class _Rates(CheckedValue):
    input: NaturalNumber
    output: NaturalNumber
    cached: NaturalNumber | None = None
    written: NaturalNumber | None = None


class PriceTier(_Rates):
    """The rates of all tokens of a request whose input has more than ``above`` tokens."""

    above: Count


class Price(_Rates):
    """Micro-dollars per million tokens: 3 dollars a million are 3_000_000.

    Input that is read from a cache (``cached``) or written to it (``written``) costs as much as
    other input where that is not given. ``tiers`` are the rates of longer requests, the shortest
    first.
    """

    tiers: tuple[PriceTier, ...] = ()

    def check(self) -> None:
        """Refuse tiers that are not in their order."""
        if any(one.above >= other.above for one, other in pairwise(self.tiers)):
            raise self.invalid("/tiers", "must have growing numbers of tokens")

    def micros(self, usage: Usage) -> int:
        """Cost in micro-dollars, rounded up."""
        *_, rates = self._reached(usage.input_tokens)
        return _cost(rates, usage)

    def highest(self, usage: Usage) -> int:
        """The highest cost of a request whose input has at most that many tokens."""
        return max(_cost(rates, usage) for rates in self._reached(usage.input_tokens))

    def highest_output(self, tokens: int) -> int:
        """The highest rate of a reply's tokens, for an input of at most so many tokens."""
        return max(rates.output for rates in self._reached(tokens))

    def _reached(self, tokens: int) -> Iterator[_Rates]:
        """The rates up to those of a request with so many tokens of input."""
        yield self
        yield from (tier for tier in self.tiers if tokens > tier.above)


def _cost(rates: _Rates, usage: Usage) -> int:
    cached = rates.input if rates.cached is None else rates.cached
    written = rates.input if rates.written is None else rates.written
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
    total = fresh * rates.input + usage.cached_tokens * cached + usage.written_tokens * written
    return -(-(total + usage.output_tokens * rates.output) // 1_000_000)
