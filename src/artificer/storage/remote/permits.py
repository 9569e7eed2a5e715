"""The permits of requests to models, which another machine keeps."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from artificer.errors import Fenced
from artificer.ports import LimitReached, Permit, SharedLimit
from artificer.storage.remote.client import ApiCall, ApiClient
from artificer.storage.remote.leases import HeldJob, HeldJobs

PATIENCE_S = 10.0
"""Seconds with all tries to take a permit: so it is not about to end when the answer comes."""


class LimitOf(Struct):
    """A limit of a provider or a ``provider/model``, as a server says it."""

    of: str
    name: str
    count: int
    period_s: float | None = None


class _Taken(Struct):
    reached: str | None
    seconds: float


class _Standing(Struct):
    name: str
    held: int


class _Standings(Struct):
    limits: list[_Standing]


class _Done(Struct):
    pass


class RemotePermits:
    """`Permits` of the jobs that this process has leased, each under the lease of its job."""

    def __init__(self, api: ApiClient, held: HeldJobs) -> None:
        self._api = api
        self._held = held
        self._jobs: dict[str, HeldJob] = {}
        self.limits: dict[str, tuple[SharedLimit, ...]] = {}
        """The limits of each provider and model, as in the last answer of the server."""

    def learn(self, limits: Iterable[LimitOf]) -> None:
        """Replace the limits by those that a server says."""
        found: dict[str, tuple[SharedLimit, ...]] = {}
        for one in limits:
            limit = SharedLimit(one.name, one.count, one.period_s)
            found[one.of] = (*found.get(one.of, ()), limit)
        self.limits.clear()
        self.limits.update(found)

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        """Take a permit for the job at hand. Raises OperatorError."""
        if not limits:
            return None
        job = self._held.candidates()[0]
        body: dict[str, object] = {
            **job.token(),
            "permit": permit,
            "limits": [limit.name for limit in limits],
            "seconds": lease_s,
            "request": secrets.token_hex(16),
        }
        path, call = ("jobs", job.run, "permits"), ApiCall(PATIENCE_S)
        self._jobs[permit] = job  # it may be taken, whatever the answer
        found = await self._api.ask(_Taken, "POST", path, None, body, call=call)
        if found.reached is None:
            return None
        del self._jobs[permit]
        return LimitReached(found.reached, found.seconds)

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        """Extend permits. Those of a lease that was lost end, as the work on it does."""
        await self._send_all("renew", permits, {"seconds": lease_s})

    async def give_back(self, permits: Sequence[Permit]) -> None:
        """End permits, also of jobs that have ended."""
        try:
            await self._send_all("give-back", permits, {})
        finally:
            for permit in permits:
                self._jobs.pop(permit.id, None)

    async def held(self) -> Mapping[str, int]:
        """Return how many permits count under each name, of all workers."""
        found = await self._api.ask(_Standings, "GET", ("limits",))
        return {one.name: one.held for one in found.limits if one.held}

    async def _send_all(self, what: str, permits: Sequence[Permit], more: dict[str, float]) -> None:
        by_job = dict[int, tuple[HeldJob, list[Permit]]]()
        for permit in permits:
            with suppress(Fenced):  # of no job of this process any more
                job = self._jobs.get(permit.id) or self._held.candidates()[0]
                by_job.setdefault(id(job), (job, []))[1].append(permit)
        calls = [self._send(job, what, some, more) for job, some in by_job.values()]
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(answer, BaseException) and not isinstance(answer, Fenced):
                raise answer

    async def _send(
        self, job: HeldJob, what: str, permits: Sequence[Permit], more: dict[str, float]
    ) -> None:
        held = [{"permit": each.id, "limits": each.limits} for each in permits]
        body = {"attempt": job.attempt, "fence": job.fence, "permits": held, **more}
        await self._api.ask(_Done, "POST", ("jobs", job.run, "permits", what), None, body)
