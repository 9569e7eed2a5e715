"""Executing runs that a studio hands out over HTTP: a worker that cannot reach the database."""

from __future__ import annotations

import asyncio

from artificer.dispatch.agents import Agents
from artificer.dispatch.course import Course, WorkerReport, ended
from artificer.dispatch.segments import Segments
from artificer.errors import ConfigError
from artificer.ports import AwaitsRuns, Parked, RunOver, SegmentEnd
from artificer.storage.remote.serving import JobServer, LeaseTimes, SegmentAnswer
from artificer.storage.remote.storage import RemoteStorage
from artificer.world import World

MAX_RUNS = 1_000
"""Runs that a worker names as those that a run waits for; the studio finds the others itself."""


class HttpWorker:
    """Executes the jobs that the studio behind a world leases to it.

    Raises ConfigError for a world that is not behind a studio.
    """

    def __init__(self, world: World, agents: Agents, times: LeaseTimes | None = None) -> None:
        storage: object = world.storage
        if not isinstance(storage, RemoteStorage):
            raise ConfigError(
                "This world is not accessed through a studio.", hint="Name one: --api https://HOST"
            )
        self._server = JobServer(storage, times)
        self._segments = Segments(world, agents, _woken_there, counts_falls=False)
        self._course = Course()

    async def run(self, slots: int, grace_s: float) -> None:
        """Work until the task is cancelled; then give back what is in progress."""
        serving = asyncio.create_task(self._server.serve(self._execute, slots, grace_s))
        try:
            await asyncio.wait((serving,))
        except asyncio.CancelledError:
            self._course.stopping()
            raise
        finally:
            await ended(serving)
            self._course.stopped()
        serving.result()

    def report(self) -> WorkerReport:
        """Return what it does and has done."""
        return self._course.report()

    def problem(self) -> str:
        """Return why it can lease nothing now, in a word; nothing if it can."""
        return self._server.problem

    async def _execute(self, run: str, cause: str) -> SegmentAnswer:
        return answer_of(await self._course.follow(self._segments.attempt, run, cause))


async def _woken_there(run: str) -> None:
    """Leave the caller of a run to the studio, which learns how the run stands."""


def answer_of(end: SegmentEnd) -> SegmentAnswer:
    """Return the end of a segment as the studio gets it."""
    match end:
        case RunOver():
            return SegmentAnswer("done")
        case AwaitsRuns():
            return SegmentAnswer("children", runs=end.runs[:MAX_RUNS])
        case Parked():
            return SegmentAnswer("parked", seconds=end.seconds)
