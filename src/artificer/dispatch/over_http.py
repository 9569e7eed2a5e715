"""Executing runs that a studio hands out over HTTP: a worker that cannot reach the database."""

from __future__ import annotations

import logging

from artificer.dispatch.agents import Agents
from artificer.dispatch.segments import Segments
from artificer.errors import ConfigError
from artificer.ports import AwaitsRuns, Parked, RunOver, SegmentEnd
from artificer.storage.remote.serving import JobServer, LeaseTimes, SegmentSaid
from artificer.storage.remote.storage import RemoteStorage
from artificer.world import World

log = logging.getLogger("artificer.worker")


class HttpWorker:
    """Executes the jobs that the studio behind a world leases to it.

    Raises ConfigError for a world that is not behind a studio.
    """

    def __init__(self, world: World, agents: Agents, times: LeaseTimes | None = None) -> None:
        storage: object = world.storage
        if not isinstance(storage, RemoteStorage):
            raise ConfigError(
                "This world is not behind a studio.", hint="Name one: --api https://HOST"
            )
        self._server = JobServer(storage, times)
        self._segments = Segments(world, agents)

    async def run(self, slots: int, grace_s: float) -> None:
        """Work until the task is cancelled; then give back what is under way."""
        await self._server.serve(self._execute, slots, grace_s)

    async def _execute(self, run: str, cause: str) -> SegmentSaid:
        log.info("executing", extra={"run": run, "cause": cause})
        end = await self._segments.attempt(run, cause)
        said = said_of(end)
        log.info("executed", extra={"run": run, "ended": said.outcome})
        return said


def said_of(end: SegmentEnd) -> SegmentSaid:
    """Return the end of a segment as the studio is told."""
    match end:
        case RunOver():
            return SegmentSaid("done")
        case AwaitsRuns():
            return SegmentSaid("children", runs=end.runs)
        case Parked():
            return SegmentSaid("parked", seconds=end.seconds)
