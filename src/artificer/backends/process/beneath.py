"""Looking up a path so that it cannot leave a folder: in one step by the kernel.

Following links one by one, as ``Path.resolve`` does, can be deceived by a process that changes them
meanwhile; openat2(2) answers for one moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

_OPENAT2 = 437  # on every architecture
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_ATTEMPTS = 8
"""How often the kernel may say that something was renamed meanwhile."""


_FLAGS = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC

LookUp = Callable[[Path, str, int], int]
"""Opens a path beneath a folder, with these flags."""


class _How(ctypes.Structure):
    """``struct open_how``"""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@contextlib.contextmanager
def opened_beneath(root: Path, path: str, *, follow: bool = True) -> Iterator[int]:
    """A descriptor that stands for what a path leads to (O_PATH: nothing is read).

    Without ``follow`` a link at its end is what it leads to. Absolute paths, and every way that
    leaves the root, are refused, whatever they lead to; the kernel also takes an absolute link for
    such a way. Raises OSError: EXDEV for those, ENOENT for a path that leads nowhere.
    """
    look_up = by_kernel() or by_links
    descriptor = look_up(root, path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@cache
def by_kernel() -> LookUp | None:
    """openat2; None if there is none: before Linux 5.6, and where a container forbids it."""
    if sys.platform != "linux":
        return None
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long

    def look_up(root: Path, path: str, flags: int) -> int:
        folder = os.open(root, _FLAGS | os.O_DIRECTORY)
        how = _How(flags, 0, _BENEATH | _NO_MAGICLINKS)
        try:
            for _ in range(_ATTEMPTS):
                arguments = (ctypes.c_long(_OPENAT2), folder, os.fsencode(path), ctypes.byref(how))
                descriptor = int(syscall(*arguments, ctypes.c_size_t(ctypes.sizeof(how))))
                if descriptor >= 0:
                    return descriptor
                number = ctypes.get_errno()
                if number not in (errno.EAGAIN, errno.EINTR):
                    break
            raise OSError(number, os.strerror(number), path)
        finally:
            os.close(folder)

    try:
        os.close(look_up(Path("/"), ".", _FLAGS))
    except OSError:
        return None
    return look_up


def by_links(root: Path, path: str, flags: int) -> int:
    """Open a path below a root, link by link. Raises OSError if it leads out.

    A program that changes links meanwhile may deceive it.
    """
    real = root.resolve()
    if path.startswith("/") or not (real / path).resolve().is_relative_to(real):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return os.open(real / path, flags)
