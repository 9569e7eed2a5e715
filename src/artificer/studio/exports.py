"""Files made in threads, a few at a time: a long export does not keep others from being served."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from artificer.errors import OperatorError

MAX_EXPORTS = 2
"""Files that are made at a time."""

MAX_WAITING = 20
"""Files that are made or wait to be made."""

T = TypeVar("T")


class Exports:
    """Makes files one after another, for all users."""

    def __init__(self, limit: int = MAX_EXPORTS, waiting: int = MAX_WAITING) -> None:
        self._room = asyncio.Semaphore(limit)
        self._limit = waiting
        self._count = 0

    async def make(self, work: Callable[[], T]) -> T:
        """Do the work in a thread when there is room. Raises as `wait` does.

        A file whose reader has gone is made to its end: a thread cannot be stopped.
        """
        return await self.wait(lambda: asyncio.to_thread(work))

    async def wait(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work when there is room. Raises OperatorError if too much waits."""
        if self._count >= self._limit:
            raise OperatorError(
                f"{self._limit} files are being made already.", hint="Try again in a minute."
            )
        self._count += 1
        task = asyncio.create_task(self._made(work))
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    async def _made(self, work: Callable[[], Awaitable[T]]) -> T:
        async with self._room:
            return await work()

    def _done(self, task: asyncio.Task[T]) -> None:
        self._count -= 1
        if not task.cancelled():
            task.exception()  # its reader may have gone
