"""The program behind the command ``pay``: it acts when it may, and can be asked whether it has."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path


def write(line: str) -> None:
    """Add a line to the ledger."""
    with Path("ledger").open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line} {os.getpid()}\n")


def act() -> None:
    """The effect, once it may go on."""
    write("begin")
    while not Path("go").exists():
        time.sleep(0.01)
    write("act")
    print("paid")


def daemonise() -> None:
    """Leave everything by which a process is found: session, parents, descriptors, environment."""
    if os.fork():
        time.sleep(600)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 256)
    program = str(Path(__file__).absolute())
    os.execve(sys.executable, [sys.executable, "-I", "-S", program, "act"], {})


def main() -> int:
    """Do as the first argument says."""
    match sys.argv[1]:
        case "find":
            ledger = Path("ledger")
            return 0 if ledger.exists() and "act" in ledger.read_text() else 1
        case "files":
            for link in Path("/proc/self/fd").iterdir():
                with contextlib.suppress(OSError):
                    print(link.readlink())
        case "daemon":
            daemonise()
        case _:
            act()
    return 0


if __name__ == "__main__":
    sys.exit(main())
