"""One process at a time works on the files of a build: the journal's fence does not hold those."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from artificer.errors import OperatorError
from artificer.values.text import clip

_LOCK = "lock"
_LONGEST_NAME = 200
TRIES = 20
PAUSE_S = 0.1
"""How often, and how many seconds apart, it is tried while someone else may be about to end."""


@asynccontextmanager
async def exclusive_lock(folder: Path, run: str) -> AsyncIterator[None]:
    """Work on a build's folder while nobody else does. A process that dies lets go of it.

    The lock's file names the process that works there, for other processes.

    Raises:
        OperatorError: another process executes this build.
    """
    with (folder / _LOCK).open("a+b") as file:
        for left in reversed(range(TRIES)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    raise _locked(run, file) from None
                await asyncio.sleep(PAUSE_S)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()
        yield


def _locked(run: str, file: BinaryIO) -> OperatorError:
    file.seek(0)
    name = clip(file.read(_LONGEST_NAME).decode("utf-8", "replace"), _LONGEST_NAME)
    return OperatorError(
        f"Another process executes the build {run}{f': {name}' if name else ''}.",
        hint="It reads the build's signals; you do not need to resume it.",
    )
