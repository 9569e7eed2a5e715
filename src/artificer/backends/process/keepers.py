"""The keepers that wait for a call, the program that forks them, and the leashes of all."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from artificer.backends.process import keeper

MAX_SPARES = 8
"""Keepers that wait for another call."""

_SEEN_BY_PROGRAM = ("PATH", "LD_LIBRARY_PATH")
"""The environment variables that the program that forks keepers needs to start."""

_leashes: set[socket.socket] = set()
"""Our ends of all leashes: no process that is forked from this one may hold them."""


def drop_leash(ours: socket.socket) -> None:
    """Release a leash."""
    _leashes.discard(ours)
    ours.close()


def _is_let_go(leash: socket.socket) -> bool:
    """Whether a keeper that waits for a request is gone."""
    try:
        return not leash.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def new_leash() -> tuple[socket.socket, socket.socket]:
    """A leash: our end of it, and the keeper's."""
    ours, theirs = socket.socketpair()
    _leashes.add(ours)
    return ours, theirs


class Keepers:
    """The keepers that wait for a call, and the program that forks more, started when needed."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None
        self._spares: list[socket.socket] = []
        self._lock = threading.Lock()

    def take(self) -> socket.socket:
        """A leash whose keeper waits for what it shall start; another one is ready for the next.

        Raises OSError when there is none to be had.
        """
        with self._lock:
            for gone in filter(_is_let_go, tuple(self._spares)):
                self._spares.remove(gone)
                drop_leash(gone)
            while len(self._spares) < 2:
                self._spares.append(self._forked())
            return self._spares.pop()

    def give_back(self, leash: socket.socket) -> None:
        """Have a keeper whose call has ended end what is left of it, and wait for another one."""
        with contextlib.suppress(OSError), self._lock:
            if len(self._spares) < MAX_SPARES:
                leash.send(keeper.OVER)
                ours = socket.socket(fileno=leash.detach())  # no caller can use it any more
                _leashes.discard(leash)
                _leashes.add(ours)
                self._spares.append(ours)
        drop_leash(leash)

    def _forked(self) -> socket.socket:
        ours, theirs = new_leash()
        try:
            with theirs:
                self.ask(theirs)
        except OSError:
            drop_leash(ours)
            raise
        return ours

    def ask(self, leash: socket.socket) -> None:
        """Have a keeper take a leash. Raises OSError when that cannot be done."""
        for last in (False, True):
            control = self._started()
            try:
                socket.send_fds(control, [b"."], [leash.fileno()])
            except (BrokenPipeError, ConnectionError):  # someone has ended it
                self.forget()
                if last:
                    raise
            else:
                return

    def _started(self) -> socket.socket:
        if self._control is None:
            ours, theirs = socket.socketpair()
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(Path(keeper.__file__))],
                    env={n: os.environ[n] for n in _SEEN_BY_PROGRAM if n in os.environ},
                    cwd="/",
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            process.returncode = 0  # it ends when we do, and is not waited for
            self._control = ours
            _leashes.add(ours)
        return self._control

    def forget(self) -> None:
        """Start another one when the next is needed."""
        if self._control is not None:
            drop_leash(self._control)
            self._control = None

    def close(self) -> None:
        """Release what is no longer needed."""
        self.forget()
        while self._spares:
            drop_leash(self._spares.pop())

    def forked(self) -> None:
        """Start with a clean state in a process that was forked from this one."""
        self._control, self._spares = None, []
        self._lock = threading.Lock()


KEEPERS = Keepers()
"""Those of this process."""

atexit.register(KEEPERS.close)


def _after_fork() -> None:
    """A forked process holds no leash: what it keeps open would not end with this one."""
    for leash in list(_leashes):
        with contextlib.suppress(OSError):
            os.close(leash.detach())
    _leashes.clear()
    KEEPERS.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
