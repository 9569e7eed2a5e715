"""Work that runs to its end even if the waiting task is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Do short, bounded work in a thread. A cancellation takes effect when the work has ended."""
    return await shielded(asyncio.to_thread(work))


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Await short, bounded work. A cancellation takes effect when the work has ended."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # retrieved: the cancellation takes precedence
        raise
