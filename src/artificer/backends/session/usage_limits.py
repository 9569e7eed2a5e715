"""A run's limits on something that outlives its calls: a program, a browser.

They bound how often and for how long it may be used, by one call at a time. When it is lost, the
next call learns so, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

SHORTEST_WAIT = 0.05
"""Seconds: the time of what is in progress is looked at no more often."""


class UsageLimits(Protocol):
    """The limits that ``[session]`` and ``[browser]`` set."""

    @property
    def max_interactions(self) -> int:
        """How often it may be used."""

    @property
    def session_timeout_seconds(self) -> int:
        """How long it may be used."""

    @property
    def idle_timeout_seconds(self) -> int:
        """How long it may stand unused."""


class UsageLimiter:
    """The use that a run makes of a thing. ``count`` is how often that was."""

    def __init__(self, what: str, restart: str, terms: UsageLimits) -> None:
        """Parts of sentences: ``what`` is the resource, ``restart`` how the next one starts."""
        self._what = what
        self._restart = restart
        self._terms = terms
        self._lock = asyncio.Lock()
        self._began: float | None = None
        self._used = 0.0
        self.count = 0
        self.lost: str | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a call is in progress."""
        return self._lock.locked()

    @contextlib.asynccontextmanager
    async def turn(self, end: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """The time of one call. What a call leaves unfinished, by a cancellation most of all, is
        ended: nobody knows where it is.
        """
        async with self._lock:
            try:
                yield
            except BaseException:  # a cancellation, too, leaves a call unfinished
                await end()
                raise
            finally:
                self._used = time.monotonic()

    def recall(self, calls: int) -> None:
        """Continue the counts of a run whose former process, and this resource, are gone."""
        self.count += calls
        self.lost = "it ended when the run was interrupted"

    def begin(self) -> None:
        """Note that it exists. Its time started when it was first seen."""
        self._began = self._began or time.monotonic()

    def refusal(self) -> str | None:
        """Why it may not be used now, in half a sentence."""
        terms, what = self._terms, self._what
        if self.count >= terms.max_interactions:
            return f"this run has used all {terms.max_interactions} interactions of the {what}."
        if self._began is not None and time.monotonic() >= self._over:
            return f"the {what}'s {terms.session_timeout_seconds} s in this run are over."
        if self.lost is not None:
            reason, self.lost = self.lost, None
            return f"the {what} is lost: {reason}. The next call starts a new one, {self._restart}."
        return None

    async def expired(
        self, ended: asyncio.Future[None] | None = None, *, spares_calls: bool = False
    ) -> str | None:
        """Wait until nobody has used it for too long or its time is up, and say which.

        None when it has ``ended`` before. With ``spares_calls`` a call in progress is waited for.
        """
        while True:
            now = time.monotonic()
            idle = (now if self.is_busy else self._used) + self._terms.idle_timeout_seconds
            due = idle if self.is_busy and spares_calls else min(idle, self._over)
            if now >= due:
                return "nobody used it" if now < self._over else "its time was up"
            wait = max(SHORTEST_WAIT, due - now)
            if ended is None:
                await asyncio.sleep(wait)
                continue
            await asyncio.wait([ended], timeout=wait)
            if ended.done():
                return None

    @property
    def _over(self) -> float:
        return (self._began or 0) + self._terms.session_timeout_seconds
