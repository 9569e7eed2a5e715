"""One process at a time works on the files of a build: the journal's fence does not hold those."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from artificer.errors import OperatorError

_LOCK = "lock"
TRIES = 20
PAUSE_S = 0.1
"""How often, and how many seconds apart, it is tried while somebody else may be about to end."""


@asynccontextmanager
async def alone(folder: Path, run: str) -> AsyncIterator[None]:
    """Work on a build's folder while nobody else does. A process that dies lets go of it.

    Raises:
        OperatorError: another process drives this build, and goes on doing so.
    """
    with (folder / _LOCK).open("wb") as file:
        for left in reversed(range(TRIES)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    raise OperatorError(
                        f"Another process drives the build {run}.",
                        hint="It takes what is sent to the build; nothing has to be resumed.",
                    ) from None
                await asyncio.sleep(PAUSE_S)
        yield
