"""The permits of limits that the runs of one process share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from artificer.ports import LimitReached, Permit, SharedLimit


class _Taken(Struct):
    until: float
    held: bool


class MemoryPermits:
    """`Permits` of one process, for worlds whose storage has none. ``now`` is in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._taken: dict[str, dict[str, _Taken]] = {}

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        """Take a permit under all of these limits, or under none of them."""
        now = self._now()
        reached = [found for limit in limits if (found := self._reached(limit, now)) is not None]
        if reached:
            return max(reached, key=lambda found: found.seconds)
        for limit in limits:
            held, lasts = limit.period_s is None, limit.period_s or lease_s
            self._taken.setdefault(limit.name, {})[permit] = _Taken(now + lasts, held)
        return None

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        """Extend permits; one that was lost counts again."""
        until = self._now() + lease_s
        for permit in permits:
            for name in permit.limits:
                self._taken.setdefault(name, {})[permit.id] = _Taken(until, held=True)

    async def give_back(self, permits: Sequence[Permit]) -> None:
        """End permits."""
        for permit in permits:
            for name in permit.limits:
                taken = self._taken.get(name, {})
                if permit.id in taken and taken[permit.id].held:
                    del taken[permit.id]

    async def held(self) -> Mapping[str, int]:
        """Return how many permits count under each name."""
        now = self._now()
        counts = {name: len(self._counting(name, now)) for name in sorted(self._taken)}
        return {name: count for name, count in counts.items() if count}

    def _counting(self, name: str, now: float) -> dict[str, _Taken]:
        taken = self._taken.get(name, {})
        self._taken[name] = left = {id: each for id, each in taken.items() if each.until > now}
        return left

    def _reached(self, limit: SharedLimit, now: float) -> LimitReached | None:
        left = self._counting(limit.name, now)
        if len(left) < limit.count:
            return None
        ends = sorted(each.until for each in left.values())
        seconds = 0.0 if limit.period_s is None else ends[len(ends) - limit.count] - now
        return LimitReached(limit.name, seconds)
