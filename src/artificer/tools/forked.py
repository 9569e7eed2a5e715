"""Running a blocking function in a process of its own, because a thread cannot be ended.

``docs/decisions/0002-functions-in-a-process.md`` says what this means for a tool's author.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import secrets
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Literal, NoReturn

from artificer.tools.pipes import PipeReader
from artificer.tools.tree import MARK, ProcessTree

MAX_REPORT_BYTES = 4 * 1024 * 1024
"""Most that is read from a child: far above any report, so that only a broken child meets it."""

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
"""Signals for which the program, or its event loop, may have handlers."""


@dataclass(frozen=True)
class Report:
    """How a function ended: what the model reads, and for an error what the log gets."""

    status: Literal["ok", "error"]
    content: str
    trace: str = ""


async def run_forked(work: Callable[[], Report], seconds: float) -> Report | None:
    """Run ``work`` in a child process and return its report, or None when the time was up.

    However this ends, by result, timeout or cancellation, the child and all it started have
    ended too: SIGTERM first, SIGKILL after a grace.
    """
    tree, descriptor = _fork(work)
    received = bytearray()
    reader = PipeReader(descriptor, lambda data: _keep(received, data))
    in_time = True
    try:
        async with asyncio.timeout(seconds):
            await reader.ended
    except TimeoutError:
        in_time = False
    finally:
        reader.close()
        try:
            await tree.end()
        finally:
            status = _reap(tree.root)
    if not in_time:
        return None
    return _report(bytes(received)) or Report("error", f"The tool's process {_ended(status)}.")


def _fork(work: Callable[[], Report]) -> tuple[ProcessTree, int]:
    mark = secrets.token_hex(8)
    adopt = _adopter()
    readable, writable = os.pipe()
    _flush()
    # A signal between the fork and the child's own handlers would wake the parent's event loop.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    with warnings.catch_warnings():
        # Python 3.12 warns of any fork beside threads. The child touches none of their state:
        # it runs the function and leaves by os._exit.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _be_the_child(work, mark, adopt, (readable, writable))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(writable)
    return ProcessTree(pid, mark), readable


@cache
def _adopter() -> Callable[[], object]:
    """What a process calls to become the parent of its orphaned descendants (prctl(2)).

    Loaded before the fork: between fork and work, as little as possible should happen.
    """
    if sys.platform != "linux":
        return lambda: None
    import ctypes

    set_child_subreaper = 36
    return partial(ctypes.CDLL(None).prctl, set_child_subreaper, 1, 0, 0, 0)


def _be_the_child(
    work: Callable[[], Report], mark: str, adopt: Callable[[], object], pipe: tuple[int, int]
) -> NoReturn:
    """Run the work, report, and wait to be ended. Never returns into the parent's code."""
    readable, writable = pipe
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)  # it is the parent's event loop that would be woken
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        gc.freeze()  # the parent's garbage, with its finalizers, is not ours to collect
        os.environ[MARK] = mark
        adopt()
        os.close(readable)
        # Should the function fork, the end of its process must still be the end of the pipe.
        os.register_at_fork(after_in_child=lambda: os.close(writable))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)  # what a tool prints must not end up in the program's own output
        _write(writable, json.dumps(asdict(work())).encode())
        _flush()
        os.close(writable)
        signal.pause()  # as long as this process is there, what it started can be found
    finally:
        os._exit(1)


def _flush() -> None:
    """Write out what is buffered, lest the child does it a second time."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or not there
            stream.flush()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _keep(received: bytearray, data: bytes) -> None:
    if len(received) < MAX_REPORT_BYTES:
        received += data


def _report(received: bytes) -> Report | None:
    try:
        return Report(**json.loads(received))
    except (ValueError, TypeError):
        return None


def _reap(pid: int) -> int:
    """Return the wait status of a child that has ended; 0 for one that cannot be ended."""
    try:
        reaped, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # the program reaps all its children itself (SIGCHLD is ignored)
        return 0
    return status if reaped else 0


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with exit code {os.WEXITSTATUS(status)} and no result"
