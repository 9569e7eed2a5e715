"""The port to the impure half of a build."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from artificer.builds.jobs import Job
    from artificer.core.events import BuildAdvanced
    from artificer.core.state import RunState
    from artificer.values.base import Digest


class Builder(Protocol):
    """Performs the jobs of a build's scheduler, and manages the runs it started."""

    async def serve(self, run: str, state: RunState, job: Job) -> BuildAdvanced | None:
        """Perform a job, and return the resulting fact.

        Returns None if there is no fact yet: the job has no result, or what it started is idle and
        will be resumed. Performing a job again has the same result.
        """

    async def relay(self, run: str, state: RunState, signal: bytes) -> None:
        """Send a signal to every run of the build in progress. It may arrive twice."""

    async def signalled(self, state: RunState) -> Collection[Digest]:
        """The keys of jobs whose runs are idle and have received signals since."""

    async def tidy(self, run: str, state: RunState) -> None:
        """End every run of the build that nothing waits for, and remove its leftovers."""
