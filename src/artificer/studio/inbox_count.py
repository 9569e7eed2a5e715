"""The number of runs that wait for a person, shown on every page next to the inbox link."""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

from artificer.errors import ArtificerError
from artificer.world import World

log = logging.getLogger("artificer.studio.inbox_count")

LIMIT = 99
"""Runs that are counted; of more, a page says so."""


class InboxCount(NamedTuple):
    """The runs of the inbox. ``more`` says that there are more than were counted."""

    runs: int = 0
    more: bool = False

    @property
    def text(self) -> str:
        """The number as pages show it."""
        return f"{self.runs}+" if self.more else str(self.runs)


class InboxCounter:
    """Counts the runs that wait. All who ask while it counts share the next result."""

    def __init__(self, world: World, limit: int = LIMIT) -> None:
        self._world = world
        self._limit = limit
        self._lock = asyncio.Lock()
        self._begun = float("-inf")
        self._count = InboxCount()

    async def get(self) -> InboxCount:
        """Return a count that was begun after this was called; none where runs cannot be read."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        async with self._lock:
            if self._begun <= now:
                self._begun = loop.time()
                self._count = await self._counted()
            return self._count

    async def _counted(self) -> InboxCount:
        try:
            found = await self._world.archive.list_runs(self._limit, at_once=True, waiting=True)
        except ArtificerError as error:  # the page is worth more than its count
            log.warning("the inbox is not counted: %s", error.message)
            return InboxCount()
        waiting = {run.run for run in found.runs}
        # A run that an agent's call started is shown with its caller, which waits for it.
        shown = sum(not (run.agent and run.parent in waiting) for run in found.runs)
        return InboxCount(shown, more=found.next is not None)
