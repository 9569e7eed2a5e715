"""What tokens cost: data that the operator gives, never a guess of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from artificer.values.model import Usage


@dataclass(frozen=True)
class Price:
    """Micro-dollars per million tokens: 3 dollars a million are 3_000_000."""

    input: int
    output: int
    cached: int | None = None


@dataclass(frozen=True)
class Prices:
    """Prices by ``provider/model``. A model without a price has no cost, which is not zero."""

    table: Mapping[str, Price] = field(default_factory=dict)

    def cost_micros(self, model: str, usage: Usage) -> int | None:
        """Cost of a reply in micro-dollars, rounded up, or None where no price is known."""
        price = self.table.get(model)
        if price is None:
            return None
        cached_price = price.input if price.cached is None else price.cached
        fresh = usage.input_tokens - usage.cached_tokens
        total = fresh * price.input + usage.cached_tokens * cached_price
        return -(-(total + usage.output_tokens * price.output) // 1_000_000)
