"""The sections of ``artificer.toml`` about spending: prices, budgets and limits of runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from artificer.core.price import Price, PriceTier
from artificer.core.repeats import FEWEST_REPEATS
from artificer.ports import SpendingLimit
from artificer.values.base import CheckedValue, Meta, field


def micros(dollars: float | None) -> int | None:
    """Return dollars as micro-dollars."""
    return None if dollars is None else round(dollars * 1_000_000)


Rate = Annotated[float, Meta(ge=0, le=1_000_000)]


class _RatesConfig(CheckedValue):
    input: Rate
    output: Rate
    cached: Rate | None = None
    written: Rate | None = None

    @property
    def rates(self) -> dict[str, Any]:
        """The rates as a run records them."""
        return {
            "input": micros(self.input) or 0,
            "output": micros(self.output) or 0,
            "cached": micros(self.cached),
            "written": micros(self.written),
        }


class TierConfig(_RatesConfig):
    """Dollars per million tokens, for all tokens of a request with more than ``above`` of input."""

    above: Annotated[int, Meta(ge=1, le=1_000_000_000)]


class PriceConfig(_RatesConfig):
    """Dollars per million tokens: ``[prices."provider/model"]``."""

    tiers: tuple[TierConfig, ...] = ()

    def check(self) -> None:
        """Reject tiers that are not in order."""
        if any(one.above >= other.above for one, other in pairwise(self.tiers)):
            raise self.invalid("/tiers", "must have growing numbers of tokens in `above`")

    @property
    def value(self) -> Price:
        """The price as a run records it."""
        tiers = tuple(PriceTier(above=tier.above, **tier.rates) for tier in self.tiers)
        return Price(**self.rates, tiers=tiers)


Dollars = Annotated[float, Meta(gt=0, le=1_000_000)]


class BudgetConfig(CheckedValue):
    """``[budget]``: the project's spending limit for a day, and the default limits of a run.

    ``per_run_repeats`` is how often a model may repeat itself; 0 means no limit.
    """

    per_day_dollars: Dollars | None = None
    per_day_tokens: Annotated[int, Meta(ge=1)] | None = None
    per_run_dollars: Dollars | None = None
    per_run_tokens: Annotated[int, Meta(ge=1)] | None = None
    per_run_repeats: Annotated[int, Meta(ge=0)] = 6

    def check(self) -> None:
        """Reject a limit that stops a model before it is informed of its repetition."""
        if 0 < self.per_run_repeats < FEWEST_REPEATS:
            reason = f"must be at least {FEWEST_REPEATS}, or 0 for no limit"
            raise self.invalid("/per_run_repeats", reason)

    @property
    def day(self) -> SpendingLimit:
        """The spending limit of a day."""
        return SpendingLimit(self.per_day_tokens, micros(self.per_day_dollars))

    @property
    def run(self) -> dict[str, int | None]:
        """The limits of a run."""
        limits = {"total_tokens": self.per_run_tokens, "cost_micros": micros(self.per_run_dollars)}
        known = {name: limit for name, limit in limits.items() if limit is not None}
        return {**known, "repeats": self.per_run_repeats or None}


class ReplyLimits(CheckedValue):
    """``[limits.kinds.KIND]`` and ``[limits.models."provider/model"]``."""

    max_tokens: Annotated[int, Meta(ge=1, le=10_000_000)]


class LimitsConfig(CheckedValue):
    """``[limits]``: the tokens of a reply, for all runs and for runs of a kind, and the longest
    reply of a model.
    """

    max_tokens: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    kinds: Mapping[Literal["chat", "deliver", "build"], ReplyLimits] = field(default_factory=dict)
    models: Mapping[str, ReplyLimits] = field(default_factory=dict)

    def max_tokens_of(self, kind: str) -> int | None:
        """Return the setting for runs of a kind."""
        own = next((limits for name, limits in self.kinds.items() if name == kind), None)
        return self.max_tokens if own is None else own.max_tokens

    def longest_reply_of(self, model: str) -> int | None:
        """Return the setting for a ``provider/model``."""
        own = self.models.get(model)
        return None if own is None else own.max_tokens
