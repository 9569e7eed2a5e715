"""Functions in clean processes, which end when their time is up.

A process begins as a Python interpreter that imports the function: nothing of the program's memory
is copied (``docs/decisions/0002-threads-and-processes.md``).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import msgspec

from artificer.backends.function.ended import Ended
from artificer.backends.process.pipes import PipeReader
from artificer.backends.process.start import Process, start
from artificer.ports import Call
from artificer.system.home import working_directory
from artificer.values.base import JsonObject

MAX_REPORT_BYTES = 128 * 1024 * 1024
"""Bytes read from a process. A result of JSON is in its report twice: as text, and as data."""

_CHILD = "artificer.backends.function.child"


async def run_in_process(
    place: str, arguments: JsonObject, seconds: float, call: Call | None = None
) -> Ended | None:
    """Call the function at ``place`` (``module:name``), or return None when the time was up.

    However this ends, by result, timeout or cancellation, the process and everything it started
    have ended too: SIGTERM first, SIGKILL after a grace. They hold the ``call``'s lock until then.
    """
    facts = None if call is None else _facts(call)
    request: JsonObject = {"place": place, "arguments": arguments, "call": facts}
    process, descriptor = _start(request, call.locks.own if call and call.locks else None)
    received = bytearray()

    def keep(data: bytes) -> None:
        if len(received) < MAX_REPORT_BYTES:
            received.extend(data)

    reader = PipeReader(descriptor, keep)
    ended, in_time = None, True
    try:
        async with asyncio.timeout(seconds):
            await reader.ended
            ended = _report(received)
            if ended is None:
                await process.exited()
    except TimeoutError:
        in_time = False
    finally:
        reader.close()
        await process.end()
    if not in_time:
        return None
    return ended or Ended("error", f"The tool's process {_exit(process.returncode)}.")


def _facts(call: Call) -> JsonObject:
    """Return what a process may know of a call."""
    definition = call.definition.to_json()
    facts: JsonObject = {"run": call.run, "id": call.id, "definition": definition, "key": call.key}
    return {**facts, "fencing_token": call.fencing_token}


def _start(request: JsonObject, lock: Path | None) -> tuple[Process, int]:
    """Start the process, and return it with the descriptor that its report comes from."""
    folder = working_directory()
    path = [entry or str(folder) for entry in sys.path]
    request = {**request, "path": [*path], "python_path": os.environ.get("PYTHONPATH")}
    readable, writable = os.pipe()
    try:
        with tempfile.TemporaryFile() as file:  # a pipe could be full before the child reads it
            file.write(json.dumps(request).encode())
            file.seek(0)
            process = start(
                [sys.executable, "-m", _CHILD],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                cwd=folder,
                streams=(file.fileno(), writable, 2),
                lock=lock,
            )
    except BaseException:  # an interrupt too: nobody else could close it
        os.close(readable)
        raise
    finally:
        os.close(writable)
    return process, readable


def _report(received: bytearray) -> Ended | None:
    if len(received) >= MAX_REPORT_BYTES:  # it may have changed something
        why = f"Its result has more than {MAX_REPORT_BYTES:,} bytes."
        return Ended("error", f"The function ran to its end. {why}")
    try:
        return msgspec.json.decode(received, type=Ended)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _exit(status: int | None) -> str:
    if status is None:
        return "could not be ended"
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with exit code {status} and no result"
