"""The seam to the impure half of a build."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from artificer.builds.jobs import Job
from artificer.core.events import BuildAdvanced
from artificer.core.state import RunState
from artificer.values.base import Digest


class Builder(Protocol):
    """Serves what the scheduler of a build wishes for, and looks after the runs it started."""

    async def serve(self, run: str, state: RunState, wish: Job) -> BuildAdvanced | None:
        """Serve a wish, and return the fact that answers it.

        None when there is none to tell now: the wish asks for no answer, or what it started rests
        and will be taken up again. Serving a wish again comes to the same.
        """

    async def relay(self, run: str, state: RunState, letter: bytes) -> None:
        """Leave a letter for every run of the build that is under way. It may come twice."""

    async def signalled(self, state: RunState) -> Collection[Digest]:
        """The keys of wishes whose runs rest, and have got letters since."""

    async def tidy(self, run: str, state: RunState) -> None:
        """End every run of the build that nobody waits for, and remove what it left."""
