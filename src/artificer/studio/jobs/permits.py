"""The permits of requests to models that workers make for their jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from artificer.ports import LimitReached, Permit, Permits, SharedLimit
from artificer.studio.jobs.rows import JobRow

MAX_PERMITS = 100
"""Permits that are renewed or given back at once."""


class JobPermits:
    """The permits of jobs, within the limits of this world alone, whatever a worker says of them.

    ``limits`` are those of each provider and ``provider/model``. A permit lasts as long as the
    lease of its job may, unless it is given back: a worker that is cut off continues until then.
    All methods raise OperatorError if the storage cannot be reached.
    """

    def __init__(self, limits: Mapping[str, tuple[SharedLimit, ...]], permits: Permits) -> None:
        self.limits = limits
        self._permits = permits

    @property
    def by_name(self) -> dict[str, SharedLimit]:
        """The limits by their own names."""
        return {limit.name: limit for found in self.limits.values() for limit in found}

    async def take(
        self, row: JobRow, permit: str, names: Sequence[str], seconds: float
    ) -> LimitReached | None:
        """Take a permit for a job under the limits of these names; those that are none limit
        nothing.
        """
        known = self.by_name
        limits = [known[name] for name in dict.fromkeys(names) if name in known]
        return await self._permits.take(_of(row, permit), limits, seconds)

    async def renew(self, row: JobRow, permits: Sequence[Permit], seconds: float) -> None:
        """Extend permits of a job; a lost one is taken again."""
        await self._permits.renew(self._own(row, permits), seconds)

    async def give_back(self, row: JobRow, permits: Sequence[Permit]) -> None:
        """End permits of a job."""
        await self._permits.give_back(self._own(row, permits))

    async def held(self) -> Mapping[str, int]:
        """Return how many permits count under each name."""
        return await self._permits.held()

    def _own(self, row: JobRow, permits: Sequence[Permit]) -> list[Permit]:
        held = {name for name, limit in self.by_name.items() if limit.period_s is None}
        return [
            Permit(_of(row, permit.id), tuple(name for name in permit.limits if name in held))
            for permit in permits
        ]


def _of(row: JobRow, permit: str) -> str:
    """Return the name of a permit of a lease: no other one can name it."""
    return f"{row.owner}.{permit}"
