"""The memory of this process, which holds keys."""

from __future__ import annotations

import os
import sys
from functools import cache

DUMPABLE = "ARTIFICER_DUMPABLE"
"""The environment variable that keeps this process open to debuggers when it is ``1``."""

_PR_SET_DUMPABLE = 4


@cache
def keep_memory_private() -> None:
    """Close this process's memory to other processes of the same user (on Linux).

    Its environment and its memory hold keys: without this, every program that a tool starts could
    read them from ``/proc`` or attach to the process. The started programs are ordinary processes.
    Root's processes can still read everything.
    """
    if not sys.platform.startswith("linux") or os.environ.get(DUMPABLE) == "1":
        return
    import ctypes  # rarely needed

    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
