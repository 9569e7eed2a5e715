"""The functions behind the tool ``pay``, which act in the working folder, and what they write."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path(__file__).with_name("program.py")


def write(line: str) -> None:
    """Add a line to the ledger."""
    with Path("ledger").open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line} {os.getpid()}\n")


def act() -> str:
    """Pay, once the effect may go on."""
    write("begin")
    while not Path("go").exists():
        time.sleep(0.01)
    write("act")
    return "paid"


def daemon() -> str:
    """Pay, by a process that leaves everything by which it could be found."""
    subprocess.run([sys.executable, str(PROGRAM), "daemon"], env={}, check=False)
    return "started"


def started() -> str:
    """Pay, by a process that nobody keeps."""
    subprocess.run([sys.executable, str(PROGRAM), "act"], check=False)
    return "paid"


def forked() -> str:
    """Pay, by a forked process: the kernel shows the environment with which we were started."""
    process = multiprocessing.get_context("fork").Process(target=act)
    process.start()
    process.join()
    return "paid"


def files(n: int) -> str:
    """List the files that the process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except OSError:
            continue
    return "\n".join(found)
