"""A value that takes a while to look up, remembered for some seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Looks up a value on demand, in one task, and caches it for ``seconds``."""

    def __init__(self, look: Callable[[], Awaitable[T]], seconds: float) -> None:
        self._look = look
        self._seconds = seconds
        self._task: asyncio.Task[T] | None = None
        self._done_at = 0.0

    async def get(self, patience: float) -> T | None:
        """Return the value; None if it is not known within ``patience`` seconds."""
        loop, task = asyncio.get_running_loop(), self._task
        if task is None or (task.done() and loop.time() - self._done_at > self._seconds):
            task = self._task = asyncio.create_task(self._found())
        await asyncio.wait([task], timeout=patience)
        return task.result() if task.done() else None

    async def aclose(self) -> None:
        """End a look that is in progress."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _found(self) -> T:
        try:
            return await self._look()
        finally:
            self._done_at = asyncio.get_running_loop().time()
