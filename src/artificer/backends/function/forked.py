"""Running a blocking function in a process of its own, because a thread cannot be ended.

``docs/decisions/0002-functions-in-a-process.md`` says what this means for a tool's author.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import secrets
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from artificer.backends.process.keeper import keep
from artificer.backends.process.kept import Kept, can_keep, drop_leash, fork_leash
from artificer.backends.process.pipes import PipeReader
from artificer.backends.process.start import Child, Process
from artificer.backends.process.tree import MARK
from artificer.ownership.fifo import holding
from artificer.ports import Attachment

MAX_REPORT_BYTES = 64 * 1024 * 1024
"""Most that is read from a child: far above any report, so that only a broken child meets it."""

_MULTI_THREADED = "This process .* is multi-threaded"

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
"""Signals for which the program, or its event loop, may have handlers."""


@dataclass(frozen=True)
class ForkReport:
    """How a function ended: what the model reads, and for an error what the log gets."""

    status: Literal["ok", "error"]
    content: str
    trace: str = ""
    attachments: tuple[Attachment, ...] = ()


async def run_forked(
    work: Callable[[], ForkReport], seconds: float, lock: Path | None = None
) -> ForkReport | None:
    """Run ``work`` in a child process and return its report, or None when the time was up.

    However this ends, by result, timeout or cancellation, the child and all it started have
    ended too: SIGTERM first, SIGKILL after a grace. They hold the ``lock`` until then.
    """
    process, descriptor = _fork(work, lock)
    received = bytearray()
    reader = PipeReader(descriptor, lambda data: _keep(received, data))
    report, in_time = None, True
    try:
        async with asyncio.timeout(seconds):
            await reader.ended
            report = _report(bytes(received))
            if report is None:
                await process.exited()
    except TimeoutError:
        in_time = False
    finally:
        reader.close()
        await process.end()
    if not in_time:
        return None
    return report or ForkReport("error", f"The tool's process {_ended(process.returncode)}.")


def _fork(work: Callable[[], ForkReport], lock: Path | None) -> tuple[Process, int]:
    """Fork the process that does the work, under a keeper where the system has what that needs."""
    _flush()
    readable, writable = pipe = os.pipe()
    kept, mark = can_keep(), secrets.token_hex(8)
    ours, theirs = fork_leash()
    try:
        with holding(lock), theirs:
            perform = partial(_perform, work, writable, mark)
            pid = _forked(lambda: _be_the_child(theirs if kept else None, perform, pipe))
        if kept:
            return Kept(ours, pid), readable
        drop_leash(ours)
        return Child(pid, mark), readable
    except OSError:
        drop_leash(ours)
        os.close(readable)
        raise
    finally:
        os.close(writable)


def _forked(child: Callable[[], NoReturn]) -> int:
    """Fork, and return the child's number. Raises OSError, and leaves all as it was."""
    # A signal between the fork and the child's own handlers would wake our event loop.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        with warnings.catch_warnings():
            # Python 3.12 warns about forks in a process with threads. The child touches none of
            # their state: it runs the function and leaves by os._exit.
            warnings.filterwarnings("ignore", _MULTI_THREADED, DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            child()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _be_the_child(
    leash: socket.socket | None, perform: Callable[[], None], pipe: tuple[int, int]
) -> NoReturn:
    """Do the work, or keep the process that does. Never returns into the parent's code."""
    readable, writable = pipe
    try:
        signal.set_wakeup_fd(-1)  # it is the parent's event loop that would be woken
        gc.freeze()  # the parent's garbage, with its finalizers, is not ours to collect
        os.close(readable)
        if leash is not None:
            keep(leash, perform, execs=False, gives=[writable])
        os.setsid()
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        perform()
    finally:
        os._exit(1)


def _perform(work: Callable[[], ForkReport], writable: int, mark: str) -> None:
    """Do the work and report it."""
    os.environ[MARK] = mark
    # Should the function fork, the end of its process must still be the end of the pipe.
    os.register_at_fork(after_in_child=lambda: os.close(writable))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what a tool prints must not end up in the program's own output
    _write(writable, msgspec.json.encode(work()))
    _flush()
    os._exit(0)


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


def _report(received: bytes) -> ForkReport | None:
    try:
        return msgspec.json.decode(received, type=ForkReport)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _ended(status: int | None) -> str:
    if status is None:
        return "could not be ended"
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with exit code {status} and no result"
