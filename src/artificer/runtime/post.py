"""The post: tells the runs that are being driven here that letters have come for them."""

from __future__ import annotations

import asyncio
import logging

from artificer.errors import ArtificerError
from artificer.ports import Mailbox

log = logging.getLogger("artificer.run")

EVERY_S = 0.25
"""Seconds between two looks for letters that another process has posted."""


class Post:
    """Watches one mailbox for all runs of an event loop, as long as any of them is driven."""

    def __init__(self, mailbox: Mailbox, *, every_s: float = EVERY_S) -> None:
        self.mailbox = mailbox
        self._every_s = every_s
        self._bells: dict[str, asyncio.Event] = {}
        self._heard_by: dict[str, str] = {}
        self._watching: asyncio.Task[None] | None = None

    def subscribe(self, run: str) -> asyncio.Event:
        """Return the bell of a run that is driven from now on: it is set when letters have come."""
        bell = self._bells[run] = asyncio.Event()
        self._heard_by.pop(run, None)
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch())
        return bell

    def unsubscribe(self, run: str) -> None:
        """The run is no longer driven here."""
        self._bells.pop(run, None)
        self._heard_by = {at: by for at, by in self._heard_by.items() if by != run}
        if not self._bells and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def hear_for(self, run: str, by: str) -> None:
        """Ring for ``by``, while it is driven here, when letters come for a run that rests."""
        self._heard_by[run] = by

    def drives(self, run: str) -> bool:
        """Whether the run is driven here now."""
        return run in self._bells

    async def post(self, run: str, body: bytes) -> int:
        """Post a letter, and ring at once where the run is driven here."""
        number = await self.mailbox.post(run, body)
        self._ring(run)
        return number

    def _ring(self, run: str) -> None:
        bell = self._bells.get(run) or self._bells.get(self._heard_by.get(run, ""))
        if bell is not None:
            bell.set()

    async def _watch(self) -> None:
        position, _ = await self.mailbox.news(None)
        while True:
            await asyncio.sleep(self._every_s)
            try:
                position, runs = await self.mailbox.news(position)
            except ArtificerError as error:  # a file that cannot be read now may be again later
                log.warning("the mailbox cannot be read: %s", error.message)
                continue
            for run in runs:
                self._ring(run)
