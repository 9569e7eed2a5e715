"""The keeper of a process: starts it, and ends everything it started when its leash is released.

A keeper is the subreaper of what it starts (prctl(2)), so every descendant has it for an ancestor,
also one that left its session, its parents, its descriptors and its environment. The leash is a
socket whose other end the runtime alone holds: it is let go by the runtime, or by the kernel when
the runtime dies. The keeper holds a call's lock until nothing is left of the call. Then it serves
another call, if the runtime wants it to: a keeper that has run before starts a program in half the
time that a new one needs.

This file is also a program that imports nothing of ours: ``python -I -S keeper.py`` forks a keeper
for each leash that comes in on its standard input, from a process so small that this is cheap. It
imports little else, for a fork costs as much as there is in memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

MAX_DESCRIPTORS = 8
"""Most descriptors that come with a request."""

OVER = b"."
"""Sent to a keeper: the call has ended, end what is left of it, and wait for another request."""

SIZE_BYTES = 8
"""Length of the number that a request begins with: that of its other bytes."""

_HANDLED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGCHLD,
)
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS, _SET_CHILD_SUBREAPER, _CAPBSET_DROP = 1, 38, 36, 24
_LANDLOCK_RESTRICT_SELF = 446

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def keep(leash: socket.socket) -> NoReturn:
    """Be a keeper: start what the leash asks for, and end it and all that it left.

    The keeper writes to the leash ``started PID KEEPER`` or ``failed ERRNO``, and ``ended STATUS``
    when the process has ended. It does not reap it before the call has ended, so that its number
    means no other.
    """
    try:
        with contextlib.suppress(OSError):
            os.setsid()
        for number in _HANDLED:  # by a function, for exec restores what is not ignored
            signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else _disregard)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _control(_SET_CHILD_SUBREAPER, 1)
        while (request := _received(leash)) is not None and _keep(leash, request):
            pass
    finally:
        try:
            _end_all()
        finally:
            os._exit(0)


def _disregard(*_: object) -> None:
    """Do nothing about a signal."""


def _keep(leash: socket.socket, request: Request) -> bool:
    """Start a program, and return whether its call has ended and the leash asks for another."""
    pid = _start(leash, request)
    for descriptor in request.streams:
        os.close(descriptor)
    if pid is not None:
        _watch(leash, pid)
    if leash.recv(len(OVER)) != OVER:
        return False
    _end_all()
    for descriptor in request.held:
        os.close(descriptor)
    return True


def _start(leash: socket.socket, request: Request) -> int | None:
    """Fork the process that becomes the program, and say so when it has."""
    me = os.getpid()
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            _control(_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == me:
                request.become()
        except OSError as error:
            with contextlib.suppress(OSError):
                os.write(writable, str(error.errno or 1).encode())
        finally:
            os._exit(127)
    os.close(writable)
    failed = os.read(readable, 32)  # nothing when exec has closed it
    os.close(readable)
    leash.sendall(b"failed %s\n" % failed if failed else b"started %d %d\n" % (pid, me))
    return None if failed else pid


def _watch(leash: socket.socket, pid: int) -> None:
    """Say when the process has ended, and return when the runtime says something."""
    process = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(leash, select.POLLIN)
    poll.register(process, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if process in ready:
            poll.unregister(process)
            os.close(process)
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            status = 0 if found is None else found.si_status
            killed = found is not None and found.si_code != os.CLD_EXITED
            leash.sendall(b"ended %d\n" % (-status if killed else status))
        if leash.fileno() in ready:
            return


def _end_all() -> None:
    """End every descendant: what a dead one leaves becomes our child, so none is missed."""
    with contextlib.suppress(ChildProcessError):  # there is none any more
        while True:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            for pid in children_of(os.getpid()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            os.wait()


def children_of(pid: int) -> list[int]:
    """The children of a process, those that have ended among them (proc(5))."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:  # noqa: PTH123 - no imports
            return [int(number) for number in file.read().split()]
    except FileNotFoundError:
        return _children_by_parent(pid)
    except OSError:
        return []


def _children_by_parent(pid: int) -> list[int]:
    """The children of a process, found among all processes: not every kernel lists them."""
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - no imports
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                if int(file.read().rpartition(b")")[2].split()[1]) == pid:
                    found.append(int(entry))
    return found


def _control(option: int, value: int) -> None:
    if _libc is None or _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


# --- what is asked for ------------------------------------------------------------------------


class Request:
    """A program that a keeper shall start, and the descriptors that came with it."""

    def __init__(self, fields: Sequence[bytes], descriptors: Sequence[int]) -> None:
        self._cwd, landlock, drop, count, *rest = fields
        self._landlock = int(landlock) if landlock else None
        self._drop = bool(drop)
        self._argv, variables = rest[: int(count)], rest[int(count) :]
        self._env = dict(zip(variables[::2], variables[1::2], strict=True))
        self.streams, self.held = descriptors[:3], descriptors[3:]

    def become(self) -> None:
        """Become the program. Raises OSError when that cannot be done."""
        for number, descriptor in enumerate(self.streams):
            os.dup2(descriptor, number)
        locks = self.held if self._landlock is None else self.held[:-1]
        for descriptor in locks:
            os.set_inheritable(descriptor, True)
        if self._landlock is not None:
            _restrict(self.held[-1], self._landlock, drop=self._drop)
        os.chdir(self._cwd)
        self._execute()

    def _execute(self) -> None:
        """Do as ``os.execvpe``, which sets up more than it needs."""
        name = self._argv[0]
        folders = self._env.get(b"PATH", os.fsencode(os.defpath)).split(b":")
        missing: OSError | None = None
        refused: OSError | None = None
        for file in [name] if b"/" in name else [os.path.join(each, name) for each in folders]:  # noqa: PTH118 - no imports
            try:
                os.execve(file, self._argv, self._env)
            except (FileNotFoundError, NotADirectoryError) as error:
                missing = error
            except OSError as error:
                refused = refused or error
        raise refused or missing or OSError


def encoded(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, landlock: int | None, *, drop: bool
) -> bytes:
    """A request as it is sent, without its descriptors: three streams, locks, a ruleset if any.

    Raises ValueError if a text cannot be given to a program.
    """
    flags = "" if landlock is None else str(landlock)
    variables = (text for pair in env.items() for text in pair)
    fields = [cwd, flags, "drop" if drop else "", str(len(argv)), *argv, *variables]
    text = "\0".join(fields)
    if text.count("\0") >= len(fields):
        raise ValueError("embedded null byte")
    data = os.fsencode(text)
    return len(data).to_bytes(SIZE_BYTES, "big") + data


def _received(leash: socket.socket) -> Request | None:
    """The next request; None when the leash was let go."""
    received, descriptors = b"", list[int]()
    size = SIZE_BYTES
    while len(received) < size:
        data, more = _receive(leash, 1 << 16, MAX_DESCRIPTORS)
        if not data:
            return None
        received, descriptors = received + data, descriptors + more
        if size == SIZE_BYTES <= len(received):
            size += int.from_bytes(received[:SIZE_BYTES], "big")
    return Request(received[SIZE_BYTES:].split(b"\0"), descriptors)


def _receive(source: socket.socket, size: int, limit: int) -> tuple[bytes, list[int]]:
    """Receive bytes, and descriptors that no program inherits: `recv_fds` ignores its flags."""
    data, descriptors, _, _ = socket.recv_fds(source, size, limit)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return data, descriptors


def _restrict(ruleset: int, flags: int, *, drop: bool) -> None:
    """Be held by a Landlock ruleset; ``drop`` takes what root may do beyond files."""
    assert _libc is not None
    if drop:
        for capability in range(64):
            if _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break
    _control(_SET_NO_NEW_PRIVS, 1)
    if _libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, flags) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")


# --- the program ------------------------------------------------------------------------------


def serve(control: socket.socket) -> None:
    """Fork a keeper for every leash that comes in; return when nobody can send one any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need not be reaped
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        data, descriptors = _receive(control, 1, 1)
        if not data:
            return
        if os.fork() == 0:
            control.close()
            keep(socket.socket(fileno=descriptors[0]))
        os.close(descriptors[0])


if __name__ == "__main__":
    control = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # the first three stay taken: what is received gets other numbers
    serve(control)
