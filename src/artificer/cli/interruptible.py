"""Running an asynchronous command so that Ctrl-C and SIGTERM end it in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeVar

from artificer.cli.terminal.exits import Interrupted
from artificer.errors import OperatorError

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_AGAIN_S = 0.1
"""How often, in seconds, a blocked system call is begun again to see whether a signal has come."""

_caught: ContextVar[Sequence[int]] = ContextVar("caught", default=())
"""The signals that cancel the command of this context."""


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop of its own and return its result.

    The first SIGINT, SIGTERM or SIGHUP cancels it; the second one exits at once.

    Raises:
        Interrupted: a signal cancelled it.
        OperatorError: the system does not let this process start a thread.
    """
    try:
        return asyncio.run(_until_signal(main))
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise OperatorError(
            "This process cannot start another thread: its memory or number of threads is limited.",
            hint="Raise the limit (ulimit -v, ulimit -u, the container's). A run can be resumed.",
        ) from error


@contextmanager
def interrupted_at_once() -> Iterator[None]:
    """Let a signal end what blocks the thread of the loop: reading a pipe that nobody writes to.

    A signal that another thread receives, or that comes just before the system call begins, does
    not interrupt it, and Python acts on a signal only between calls. So a timer interrupts it too.

    Raises Interrupted, where nothing has begun that would have to be ended in order.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    before = [(number, signal.signal(number, on_signal)) for number in SIGNALS]
    before.append((signal.SIGALRM, signal.signal(signal.SIGALRM, lambda *_: None)))
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
    try:
        for number in _caught.get():  # the loop has not come to it yet
            raise Interrupted(number)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


async def _until_signal(main: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    with _signals(task) as caught:
        _caught.set(caught)
        try:
            return await main
        except asyncio.CancelledError:
            if not caught:
                raise
            raise Interrupted(caught[0]) from None


@contextmanager
def _signals(task: asyncio.Task[object]) -> Iterator[list[int]]:
    """Cancel the task at the first signal, and exit at the second without waiting for anything.

    Only the main thread can handle signals: in any other one they are left to the program.
    """
    loop = asyncio.get_running_loop()
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if caught:
            if sys.stderr.isatty():
                os.write(2, b"\x1b[?25h\n")  # the live display had hidden the cursor
            os._exit(128 + number)
        caught.append(number)
        loop.call_soon_threadsafe(task.cancel)

    before = [(number, signal.getsignal(number)) for number in SIGNALS]
    for number in SIGNALS:
        # The loop's own handler makes a signal wake the loop, whichever thread the signal
        # reaches. It is replaced: a loop that hangs would never see the second signal.
        loop.add_signal_handler(number, lambda: None)
        signal.signal(number, on_signal)
    try:
        yield caught
    finally:
        for number, handler in before:
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
