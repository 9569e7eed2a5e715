"""The seam to the impure half of a build."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from artificer.builds.jobs import Job
    from artificer.core.events import BuildAdvanced
    from artificer.core.state import RunState
    from artificer.values.base import Digest


class Builder(Protocol):
    """Serves the jobs of a build's scheduler, and looks after the runs it started."""

    async def serve(self, run: str, state: RunState, job: Job) -> BuildAdvanced | None:
        """Serve a job, and return the fact that answers it.

        None when there is none now: the job asks for no answer, or what it started is idle
        and will be resumed. Performing a job again has the same result.
        """

    async def relay(self, run: str, state: RunState, signal: bytes) -> None:
        """Leave a signal for every run of the build that is under way. It may come twice."""

    async def signalled(self, state: RunState) -> Collection[Digest]:
        """The keys of jobs whose runs are idle, and have got signals since."""

    async def tidy(self, run: str, state: RunState) -> None:
        """End every run of the build that nobody waits for, and remove what it left."""
