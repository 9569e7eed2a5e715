"""Tasks: work that runs to its end though the waiting task is cancelled, and the end of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class ShieldedFuture(asyncio.Future[T]):
    """The future of work that ends anyhow: cancelling a task that waits does not
    cancel it, as with `asyncio.shield`, without the objects that this makes for each wait.
    """

    __slots__ = ()

    def cancel(self, msg: Any = None) -> bool:
        """Refuse. The task is cancelled when the work has ended."""
        return False


async def in_thread(work: Callable[[], T]) -> T:
    """Do short, bounded work in a thread. A cancellation takes effect when the work has ended."""
    return await shielded(asyncio.to_thread(work))


async def finished(work: Awaitable[T]) -> T:
    """Await short, bounded work to its end. A cancellation takes effect at the next checkpoint."""
    if isinstance(work, ShieldedFuture) and work.done():
        result: T = work.result()
        return result
    future = asyncio.ensure_future(work)
    try:
        return await (future if isinstance(future, ShieldedFuture) else asyncio.shield(future))
    except asyncio.CancelledError:
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((future,))
        if (task := asyncio.current_task()) is not None and not future.cancelled():
            task.uncancel()
            task.cancel()
        return future.result()


def cancelling() -> bool:
    """Whether the current task is being cancelled. A thread without an event loop has none."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


async def checkpoint() -> None:
    """Let a cancellation take effect that arrived while nothing was waiting."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        await asyncio.sleep(0)


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


async def end_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until their work has really ended."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    if ending:
        await asyncio.gather(*ending, return_exceptions=True)


async def drain(tasks: Iterable[asyncio.Task[Any]], grace_s: float) -> None:
    """Let tasks end for some seconds, then end them: at once, if the waiting task is cancelled."""
    ending = list(tasks)
    try:
        if ending and grace_s > 0:
            await asyncio.wait(ending, timeout=grace_s)
    finally:
        await end_all(ending)
