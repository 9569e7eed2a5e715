"""Running a program: no shell, nothing inherited, everything bounded, the whole tree ended."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from artificer.backends.process.capture import Capture
from artificer.backends.process.confinement import UNCONFINED, Confinement
from artificer.backends.process.kept import Held
from artificer.backends.process.pipes import PipeReader, pipe_in
from artificer.backends.process.start import Process, start
from artificer.contracts.evidence import Stream
from artificer.manifests.keys import LimitKeys

READ_AFTER = 0.005
"""Seconds before output is read: a program that is done by then costs one wake-up, not three."""

DRAIN_GRACE = 0.2
"""Seconds that output may still arrive after the program has ended, while others hold its pipe."""


@dataclass(frozen=True)
class Stdio:
    """Standard input, empty unless there is one, and where standard output goes."""

    stdin: bytes = b""
    stdout: Capture | None = None


@dataclass(frozen=True)
class Finished:
    """How a program ended. ``exit_code`` is None when its time was up."""

    exit_code: int | None
    stdout: Stream
    stderr: Stream
    output_hash: str
    duration_ms: int
    left_behind: int


async def run_process(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    seconds: float,
    limits: LimitKeys | None = None,
    stdio: Stdio = Stdio(),
    confinement: Confinement = UNCONFINED,
    lock: Path | None = None,
) -> Finished:
    """Run a program to its end, or until its time is up.

    It gets this environment and no other, this standard input and its own session. This
    returns when the program has exited, even if something it left behind still holds its output;
    that, and at a timeout or a cancellation the program with all its descendants, is ended first.
    ``limits`` hold for it and, each for itself, for its children. ``stdio`` takes all its
    output, for a caller who wants it. ``confinement`` is the sandbox that holds it, ``lock``
    what it holds as long as anything of it lives.

    Raises OSError when the program cannot be started.
    """
    started = time.monotonic()
    outputs = (stdio.stdout or Capture(), Capture())
    env = {**env, **confinement.env}
    process, descriptors = _start(argv, env, cwd, stdio.stdin, limits, confinement, lock)
    readers = [
        PipeReader(d, out.take, begin=False) for d, out in zip(descriptors, outputs, strict=True)
    ]
    reading = asyncio.get_running_loop().call_later(READ_AFTER, _begin, readers)
    exited, left_behind = False, 0
    try:
        async with asyncio.timeout(seconds):
            await process.exited()
            exited = True
            await _drain(readers)
    except TimeoutError:
        pass  # if the program has exited, only its last output was awaited
    finally:
        reading.cancel()
        try:
            left_behind = await _end(process)
        finally:
            for reader in readers:
                reader.read_ready()
                reader.close()
    return Finished(
        exit_code=process.returncode if exited else None,
        stdout=outputs[0].stream(),
        stderr=outputs[1].stream(),
        output_hash=outputs[0].digest,
        duration_ms=round((time.monotonic() - started) * 1000),
        left_behind=0 if confinement.ends_all else left_behind,
    )


def _begin(readers: Sequence[PipeReader]) -> None:
    for reader in readers:
        reader.begin()


async def _drain(readers: Sequence[PipeReader]) -> None:
    """Read what an ended program has left in its pipes, and a moment longer if others hold them."""
    for reader in readers:
        reader.read_ready()
    held = [reader.ended for reader in readers if not reader.ended.done()]
    if held:
        _begin(readers)
        await asyncio.wait(held, timeout=DRAIN_GRACE)


async def _end(process: Process) -> int:
    """End what is left of the tree, and return their number, without the root."""
    left = process.members()
    await process.end()
    return len(left - {process.pid})


def _start(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes,
    limits: LimitKeys | None,
    confinement: Confinement,
    lock: Path | None,
) -> tuple[Process, tuple[int, int]]:
    """Start the program; return it with the descriptors of its standard output and error."""
    with ExitStack() as ours, ExitStack() as theirs:
        readable = _input(stdin)
        theirs.callback(os.close, readable)
        out_readable, out_writable = pipe_in(ours, theirs)
        err_readable, err_writable = pipe_in(ours, theirs)
        streams = (readable, out_writable, err_writable)

        def spawn(command: Sequence[str], held: Held | None) -> Process:
            return start(command, env=env, cwd=cwd, streams=streams, lock=lock, held=held)

        process = confinement.start(argv, spawn, limits)
        ours.pop_all()
    return process, (out_readable, err_readable)


def _input(data: bytes) -> int:
    """Open a file in memory, which no path names, with what a program reads; nothing if empty."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    with tempfile.TemporaryFile() if not hasattr(os, "memfd_create") else _in_memory() as file:
        file.write(data)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


def _in_memory() -> IO[bytes]:
    return os.fdopen(os.memfd_create("stdin", os.MFD_CLOEXEC), "w+b")
