"""Driving asynchronous work from a synchronous command, so that it can be interrupted."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from artificer.archive import Archive
from artificer.cli.common.settings import Settings
from artificer.cli.terminal.exits import Interrupted
from artificer.config import Config, load_config
from artificer.errors import OperatorError
from artificer.world import World

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def in_world(
    settings: Settings,
    work: Callable[[World], Awaitable[T]],
    *,
    local_model: Path | None = None,
    compat: bool = False,
) -> T:
    """Do work in this project's world. What is given here beats the configuration.

    The first SIGINT or SIGTERM ends what is under way, in order; a second one exits at once.

    Raises:
        Interrupted: by a signal, after everything was put in order.
    """
    config = configuration(settings, local_model=local_model, compat=compat)

    async def go() -> T:
        async with await World.open(config) as world:
            return await work(world)

    return drive(go)


def in_archive(settings: Settings, work: Callable[[Archive], Awaitable[T]]) -> T:
    """Do work that only reads this project's world: nothing is made or changed there.

    Raises:
        Interrupted: by a signal.
    """
    config = configuration(settings)

    async def go() -> T:
        async with await Archive.open(config) as archive:
            return await work(archive)

    return drive(go)


def configuration(
    settings: Settings, *, local_model: Path | None = None, compat: bool = False
) -> Config:
    """Read the configuration and start the logs. Raises ConfigError.

    ``compat`` makes the reading of manifests lenient, as ``tools_compat`` does.
    """
    if settings.verbose:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logger = logging.getLogger("artificer")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return load_config(
        home=settings.home,
        project=settings.project,
        local_model=local_model,
        tools_compat=compat or None,
    )


def drive(work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function to its end.

    Raises:
        Interrupted: by a signal.
        OperatorError: the system lets this process start no thread. And what the work raises.
    """

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        with _signals(task) as caught:
            try:
                return await work()
            except asyncio.CancelledError:
                if not caught:
                    raise
                raise Interrupted(caught[0]) from None

    try:
        return asyncio.run(watched())
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise OperatorError(
            "This process may not start another thread: its memory or its threads are limited.",
            hint="Raise the limit (ulimit -v, ulimit -u, the container's). A run can be resumed.",
        ) from error


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
        # The loop's own handler sees to it that the loop wakes, whichever thread the signal
        # reaches. It is replaced: a loop that hangs would never see the second signal.
        loop.add_signal_handler(number, lambda: None)
        signal.signal(number, on_signal)
    try:
        yield caught
    finally:
        for number, handler in before:
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
