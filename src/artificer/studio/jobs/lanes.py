"""The lanes of jobs: a lease of a job is room in its lane, which all workers of a world share."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from contextlib import suppress

from artificer.errors import ArtificerError
from artificer.ports import LimitReached, Permit, Permits, SharedLimit
from artificer.runtime.limits.permits import pause_s
from artificer.studio.jobs.rows import JobRow

log = logging.getLogger("artificer.studio.jobs")


class JobLanes:
    """The room of leases in lanes that have limits. It ends with the lease, by itself.

    So it lasts as long as the worker may, also one that is cut off. Where the storage cannot be
    reached, no lane that has limits has room.
    """

    def __init__(self, limits: Mapping[str, tuple[SharedLimit, ...]], permits: Permits) -> None:
        self._limits = limits
        self._permits = permits
        self._closed = dict[str, float]()

    @property
    def closed(self) -> Collection[str]:
        """The lanes that were found to be full a moment ago, or are being asked."""
        now = time.monotonic()
        return [lane for lane, until in self._closed.items() if until > now]

    async def take(self, row: JobRow, owner: str, seconds: int) -> bool:
        """Take room for a lease; return whether there is any. A run that is to end needs none.

        Others do not ask for the lane meanwhile.
        """
        limits = () if row.ends else self._limits.get(row.lane, ())
        if not limits:
            return True
        self._closed[row.lane] = float("inf")
        try:
            reached = await self._permits.take(owner, limits, seconds)
        except ArtificerError as error:
            log.warning("there is no room in lane %s: %s", row.lane, error.message)
            reached = LimitReached(limits[0].name)
        except BaseException:  # a cancellation too
            self._closed.pop(row.lane, None)
            raise
        if reached is None:
            self._closed.pop(row.lane, None)
            return True
        self._closed[row.lane] = time.monotonic() + pause_s(reached)
        return False

    async def renew(self, row: JobRow) -> None:
        """Keep a lease's room as long as the lease, also one that was lost."""
        permit = self._permit(row, row.owner)
        if permit.limits and not row.ends:
            try:
                await self._permits.renew([permit], row.seconds)
            except ArtificerError as error:  # the next heartbeat renews it
                log.warning("the room of run %s was not renewed: %s", row.run, error.message)

    async def give_back(self, row: JobRow, owner: str = "") -> None:
        """End the room of a lease."""
        permit = self._permit(row, owner or row.owner)
        if permit.limits:
            with suppress(ArtificerError):  # it ends with the lease
                await self._permits.give_back([permit])
                self._closed.pop(row.lane, None)

    def _permit(self, row: JobRow, owner: str) -> Permit:
        limits = self._limits.get(row.lane, ())
        return Permit(owner, tuple(limit.name for limit in limits if limit.period_s is None))
