"""A lock that processes inherit: the read end of a named pipe (fifo(7)).

A process that opens the pipe for writing learns whether another process holds a read end. Unlike
with ``flock``, a holder cannot release the lock for the others: it is free when the last copy of
the descriptor is closed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from artificer.system.files import FILE_MODE, private_folder


@contextmanager
def holding(path: Path | None) -> Iterator[tuple[int, ...]]:
    """Yield the descriptors that a process started now must inherit; none without a path.

    They are closed in this process afterwards. Raises OSError.
    """
    if path is None:
        yield ()
        return
    descriptor = hold(path)
    try:
        yield (descriptor,)
    finally:
        os.close(descriptor)


def hold(path: Path) -> int:
    """Hold the lock until the descriptor is closed, here and in forks. Raises OSError."""
    private_folder(path.parent)
    with suppress(FileExistsError):
        os.mkfifo(path, FILE_MODE)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock. A lock that cannot be checked counts as held."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        return error.errno != errno.ENXIO
    os.close(descriptor)
    return True


def holders(path: Path) -> list[int]:
    """Return the processes that hold the lock, as far as this user can see (proc(5))."""
    wanted = os.path.realpath(path)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(str(link.readlink()) == wanted for link in (entry / "fd").iterdir()):
                found.append(int(entry.name))
    return sorted(found)


def drop(path: Path) -> None:
    """Remove the lock, unless it is held."""
    if not is_held(path):
        with suppress(OSError):
            path.unlink()
