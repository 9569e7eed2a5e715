"""Lanes: groups of runs with their own limits, which all workers of a world share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from functools import partial

from artificer.ports import (
    CANCEL,
    DispatchedRun,
    ExecuteSegment,
    LaneFull,
    LimitReached,
    SegmentEnd,
    SharedLimit,
)
from artificer.runtime.limits.permits import PermitKeeper, pause_s
from artificer.storage.memory.permits import MemoryPermits


class Lanes:
    """The lanes of one worker, with their limits by their names; others have none."""

    def __init__(
        self,
        limits: Mapping[str, tuple[SharedLimit, ...]] | None = None,
        keeper: PermitKeeper | None = None,
    ) -> None:
        self._limits = limits or {}
        self._keeper = keeper or PermitKeeper(MemoryPermits())
        self._closed = dict[str, asyncio.TimerHandle | None]()

    @property
    def closed(self) -> Set[str]:
        """The lanes that are found out to be full, or being asked, here."""
        return self._closed.keys()

    def ask(self, lane: str) -> bool:
        """Close a lane that has limits, while a run of it asks for room; return whether it has."""
        if lane in self._limits:
            self._closed.setdefault(lane, None)
        return lane in self._limits

    def open(self, lane: str, opened: Callable[[], None]) -> None:
        """Open a lane whose room may be asked for again."""
        timer = self._closed.pop(lane, None)
        if timer is not None:
            timer.cancel()
        opened()

    def execute(
        self,
        execute: ExecuteSegment,
        wanted: DispatchedRun,
        cause: str,
        opened: Callable[[], None] = lambda: None,
    ) -> Awaitable[SegmentEnd]:
        """Execute a segment in the lane of its run; a cancellation needs no room.

        Where there is none, the lane is closed, until ``opened`` is called; and while it is asked.
        Awaiting it raises LaneFull.
        """
        limits = self._limits.get(wanted.lane, ())
        if not limits or cause.startswith(CANCEL):
            return execute(wanted.run, cause)
        self.ask(wanted.lane)
        return self._within(limits, execute, wanted, cause, opened)

    async def _within(
        self,
        limits: Sequence[SharedLimit],
        execute: ExecuteSegment,
        wanted: DispatchedRun,
        cause: str,
        opened: Callable[[], None],
    ) -> SegmentEnd:
        open_again = partial(self.open, wanted.lane, opened)
        try:
            permit = await self._keeper.take(limits)
        except BaseException:  # a cancellation too: nobody asks for it any more
            open_again()
            raise
        if isinstance(permit, LimitReached):
            seconds = pause_s(permit)
            self._close(wanted.lane, seconds, open_again)
            raise LaneFull(seconds)
        open_again()
        try:
            return await execute(wanted.run, cause)
        finally:
            self._keeper.give_back(permit).add_done_callback(lambda _: open_again())

    def _close(self, lane: str, seconds: float, then: Callable[[], None]) -> None:
        timer = self._closed.get(lane)
        if timer is not None:
            timer.cancel()
        self._closed[lane] = asyncio.get_running_loop().call_later(seconds, then)
