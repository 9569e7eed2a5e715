"""Waiting for asynchronous work in programs that have no event loop, and in notebooks."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from artificer.errors import AuthorError

T = TypeVar("T")


def wait_for(work: Callable[[], Coroutine[Any, Any, T]], instead: str) -> T:
    """Do the work in an event loop of its own and return its result.

    In a notebook, whose cells run in an event loop, the loop of the work has a thread of its own.

    Raises:
        AuthorError: an event loop is running here, which would stand still; ``instead`` is what
            to write there.
    """
    if not _in_a_loop():
        return asyncio.run(work())
    if not _in_a_notebook():
        raise AuthorError(
            "A blocking method was called where an event loop is running already.",
            hint=f"There, write: {instead}",
        )
    return _in_a_thread(work)


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
        except BaseException as error:  # noqa: BLE001 - it is raised again by whoever waits
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
