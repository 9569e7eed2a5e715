"""A process that a tool has started: it kills the runtime, and charges when the run was taken up.

Or after some seconds: it stands for a program that was slow, not for one that waits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from outside import Outside

LATE_S = 3.0
"""How long a slow program takes to act, when nobody takes the run up."""


def main() -> None:
    """Be late."""
    folder, order, runtime = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    world = Outside(folder, "one")
    (folder / "orphan").write_text(str(os.getpid()))
    before = len(world.read("requests"))
    with contextlib.suppress(ProcessLookupError):
        os.kill(runtime, signal.SIGKILL)
    deadline = time.monotonic() + LATE_S
    while len(world.read("requests")) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    world.write("effects", {"order": order})


main()
