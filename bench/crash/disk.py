"""The failing disk and clock of disk.c: building it, and telling it when to fail."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("disk.c")
MODES = {"watch": 0, "kill": 1, "tear": 2, "full": 3}


def build(folder: Path) -> Path | None:
    """Compile the library into a folder; None where there is no C compiler, or not on Linux."""
    compiler = shutil.which("cc")
    if compiler is None or not Path("/proc/self/fd").exists():
        return None
    library = folder / "disk.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Disk:
    """The library that this process was started with; harmless where there is none."""

    def __init__(self) -> None:
        library = os.environ.get("LD_PRELOAD", "")
        self._library = ctypes.CDLL(library) if library.endswith("/disk.so") else None
        if self._library:
            self._library.disk_count.restype = ctypes.c_long
            self._library.disk_arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long]
            self._library.disk_clock.argtypes = [ctypes.c_longlong]

    def __bool__(self) -> bool:
        return self._library is not None

    def arm(self, folder: Path, mode: str, number: int) -> None:
        """Fail at the n-th change below a folder; ``watch`` only counts."""
        if self._library:
            self._library.disk_arm(str(folder).encode(), MODES[mode], number)

    def count(self) -> int:
        """The changes so far."""
        return int(self._library.disk_count()) if self._library else 0

    def shift_clock(self, seconds: int) -> None:
        """Move the wall clock."""
        if self._library:
            self._library.disk_clock(seconds)
