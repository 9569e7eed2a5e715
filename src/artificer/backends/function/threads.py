"""Synchronous functions in threads, which nothing can stop.

The threads are daemons: the end of the program does not wait for them, and ends them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import copy_context

from artificer.backends.function.ended import Ended

MAX_THREADS = 100
"""Threads of tools in this program. A call that finds none free waits for one."""

_PAUSE = 0.01

_free = threading.Semaphore(MAX_THREADS)


class ThreadWork:
    """A function at work in its own thread. Must be made in an event loop."""

    def __init__(self, work: Callable[[], Ended]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._held = ExitStack()
        self.ended: asyncio.Future[Ended] = self._loop.create_future()
        self.alive = True

    def start(self, name: str) -> None:
        """Start the thread, with a copy of the context variables."""
        run = copy_context().run
        threading.Thread(target=run, args=(self._run,), name=name, daemon=True).start()

    def hold(self, held: ExitStack) -> None:
        """Keep something open until the thread ends."""
        with self._lock:
            if self.alive:
                self._held = held.pop_all()
        held.close()

    def _run(self) -> None:
        ended = self._work()
        with self._lock:
            self.alive = False
        self._held.close()
        _free.release()
        with contextlib.suppress(RuntimeError):  # the event loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._settle, ended)

    def _settle(self, ended: Ended) -> None:
        if not self.ended.done():
            self.ended.set_result(ended)


async def start_thread(work: Callable[[], Ended], name: str) -> ThreadWork:
    """Start a function in a thread, once one is free."""
    while not _free.acquire(blocking=False):  # noqa: ASYNC110 - other event loops free them too
        await asyncio.sleep(_PAUSE)
    started = ThreadWork(work)
    try:
        started.start(name)
    except BaseException:  # an interrupt too: no thread would give its place back
        _free.release()
        raise
    return started
