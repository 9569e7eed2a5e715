"""Waiting for asynchronous work in programs without an event loop, and in notebooks."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

from artificer.errors import AuthorError

T = TypeVar("T")


def wait_for(work: Callable[[], Coroutine[Any, Any, T]], instead: str) -> T:
    """Do the work in its own event loop and return its result.

    In a notebook, whose cells run in an event loop, the loop of the work has its own thread.

    Raises:
        AuthorError: an event loop is running here, which would stand still; ``instead`` is what
            to write there.
    """
    if not _in_a_loop():
        return asyncio.run(work())
    if not _in_a_notebook():
        raise _loop_here(instead)
    return _in_a_thread(work)


def iterate(items: Callable[[], AsyncIterator[T]], instead: str) -> Iterator[T]:
    """Yield the items of an asynchronous iterator, using its own event loop.

    The loop runs while the next item is awaited, and stands still while the caller uses one.

    Raises:
        AuthorError: an event loop is running here; ``instead`` is what to write there.
    """
    if _in_a_loop():
        raise _loop_here(instead)
    return _iterated(items)


def _iterated(items: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    with asyncio.Runner() as runner:
        iterator = items()
        try:
            while True:
                try:
                    yield runner.run(_next(iterator))
                except StopAsyncIteration:
                    return
        finally:
            if isinstance(iterator, AsyncGenerator):
                runner.run(iterator.aclose())


async def _next(iterator: AsyncIterator[T]) -> T:
    return await anext(iterator)


def _loop_here(instead: str) -> AuthorError:
    return AuthorError(
        "A blocking method was called while an event loop is running.",
        hint=f"Write instead: {instead}",
    )


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_a_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _in_a_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Do the work in a thread with an event loop. An interrupt ends the work, then the wait."""
    results: list[T] = []
    errors: list[BaseException] = []
    loop = asyncio.new_event_loop()
    task = loop.create_task(work())

    def do() -> None:
        asyncio.set_event_loop(loop)
        try:
            results.append(loop.run_until_complete(task))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            errors.append(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    thread = threading.Thread(target=do, name="artificer")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
