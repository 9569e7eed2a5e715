"""Blocking work in a thread, which comes to its end whatever becomes of whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def to_the_end(work: Callable[[], T]) -> T:
    """Do short, bounded work in a thread. A cancellation is obeyed when the work has ended."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # seen: the cancellation goes before it
        raise
