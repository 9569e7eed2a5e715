"""The sections of ``artificer.toml`` about spending: prices, budgets and limits of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from artificer.core.price import Price
from artificer.ports import SpendingLimit


class SettingsSection(BaseModel):
    """A section of the file, which refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changes, which are not checked."""
        return self.model_copy(update=changes)


def micros(dollars: float | None) -> int | None:
    """Return dollars as micro-dollars."""
    return None if dollars is None else round(dollars * 1_000_000)


Rate = Annotated[float, Field(ge=0, le=1_000_000)]


class PriceConfig(SettingsSection):
    """Dollars per million tokens: ``[prices."provider/model"]``."""

    input: Rate
    output: Rate
    cached: Rate | None = None
    written: Rate | None = None

    @property
    def value(self) -> Price:
        """The price as a run records it."""
        return Price(
            input=micros(self.input) or 0,
            output=micros(self.output) or 0,
            cached=micros(self.cached),
            written=micros(self.written),
        )


Dollars = Annotated[float, Field(gt=0, le=1_000_000)]


FEWEST_REPEATS = 3


def _repeats(times: int) -> int:
    if 0 < times < FEWEST_REPEATS:
        raise ValueError(f"must be at least {FEWEST_REPEATS}, or 0 for no limit")
    return times


class BudgetConfig(SettingsSection):
    """``[budget]``: the project's spending limit for a day, and the default limits of a run.

    ``per_run_repeats`` is how often a model may repeat itself; 0 means no limit.
    """

    per_day_dollars: Dollars | None = None
    per_day_tokens: Annotated[int, Field(ge=1)] | None = None
    per_run_dollars: Dollars | None = None
    per_run_tokens: Annotated[int, Field(ge=1)] | None = None
    per_run_repeats: Annotated[int, Field(ge=0, strict=True), AfterValidator(_repeats)] = 6

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


class ReplyLimits(SettingsSection):
    """``[limits.kinds.KIND]`` and ``[limits.models."provider/model"]``."""

    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)]


class LimitsConfig(SettingsSection):
    """``[limits]``: the tokens of a reply, for all runs and for runs of a kind, and the longest
    reply of a model.
    """

    max_tokens: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    kinds: Mapping[Literal["chat", "deliver", "build"], ReplyLimits] = Field(default_factory=dict)
    models: Mapping[str, ReplyLimits] = Field(default_factory=dict)

    def max_tokens_of(self, kind: str) -> int | None:
        """Return the setting for runs of a kind."""
        own = next((limits for name, limits in self.kinds.items() if name == kind), None)
        return self.max_tokens if own is None else own.max_tokens

    def longest_reply_of(self, model: str) -> int | None:
        """Return the setting for a ``provider/model``."""
        own = self.models.get(model)
        return None if own is None else own.max_tokens
