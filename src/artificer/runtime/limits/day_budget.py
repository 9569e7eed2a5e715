"""The budget of a day: the limit, and what has been spent of it."""

from __future__ import annotations

from msgspec import Struct

from artificer.ports import Budget, SpendingLimit, Spent
from artificer.system.utc import utc_day


class DayBudget(Struct, frozen=True):
    """A day of a world's budget: the limit, and what has been spent."""

    day: str
    limit: SpendingLimit
    spent: Spent


async def day_budget(budget: Budget, limit: SpendingLimit, now: int) -> DayBudget:
    """Return what may be spent today, and what has been."""
    day = utc_day(now)
    return DayBudget(day, limit, await budget.spent(day, now))
