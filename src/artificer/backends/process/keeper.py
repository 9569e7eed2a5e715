"""The keeper of a process: starts it, and ends all that it started when its leash is let go.

A keeper is the subreaper of what it starts (prctl(2)), so every descendant has it for an ancestor,
also one that left its session, its parents, its descriptors and its environment. The leash is a
socket whose other end the runtime alone holds: it is let go when a call is over, and by the kernel
when the runtime dies. The keeper holds the call's lock until nothing is left.

This file is also a program that imports nothing of ours: ``python -I -S keeper.py`` forks a keeper
for each leash that comes in on its standard input, from a process so small that this is cheap.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

MAX_DESCRIPTORS = 8
"""Most descriptors that come with a request."""

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
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def keep(leash: socket.socket, become: Callable[[], None], *, gives: Sequence[int]) -> NoReturn:
    """Be a keeper: have a process ``become`` a program, and end it and all that it left.

    ``gives`` are the descriptors that are the program's alone. The keeper writes to the leash
    ``started PID`` or ``failed ERRNO``, and ``ended STATUS`` when the process has ended. It does
    not reap it before, so that its number means no other.
    """
    try:
        with contextlib.suppress(OSError):
            os.setsid()
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _control(_SET_CHILD_SUBREAPER, 1)
        pid = _start(leash, become)
        for descriptor in gives:
            os.close(descriptor)
        _watch(leash, pid)
    finally:
        try:
            _end_all()
        finally:
            os._exit(0)


def _start(leash: socket.socket, become: Callable[[], None]) -> int:
    """Fork the process that becomes the program, and say so when it has."""
    me = os.getpid()
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            leash.close()
            os.close(readable)
            _be_the_process(me)
            become()
        except OSError as error:
            with contextlib.suppress(OSError):
                os.write(writable, str(error.errno or 1).encode())
        finally:
            os._exit(127)
    os.close(writable)
    failed = os.read(readable, 32)  # nothing when exec has closed it
    os.close(readable)
    leash.sendall(b"failed %s\n" % failed if failed else b"started %d\n" % pid)
    return pid


def _be_the_process(keeper: int) -> None:
    os.setsid()
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    _control(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(127)


def _watch(leash: socket.socket, pid: int) -> None:
    """Say when the process has ended, and return when the leash is let go."""
    process = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(leash, select.POLLIN)
    poll.register(process, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if process in ready:
            poll.unregister(process)
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            status = 0 if found is None else found.si_status
            killed = found is not None and found.si_code != os.CLD_EXITED
            leash.sendall(b"ended %d\n" % (-status if killed else status))
        if leash.fileno() in ready:
            return


def _end_all() -> None:
    """End every descendant: what a dead one leaves becomes our child, so none is missed."""
    while True:
        for pid in children_of(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


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
    """The same on a kernel that does not list them."""
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


# --- the program ------------------------------------------------------------------------------


def serve(control: socket.socket) -> None:
    """Fork a keeper for every leash that comes in; return when nobody can send one any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need not be reaped
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1, _CLOEXEC)
        if not data:
            return
        if os.fork() == 0:
            control.close()
            _answer(socket.socket(fileno=descriptors[0]))
        os.close(descriptors[0])


def _answer(leash: socket.socket) -> NoReturn:
    """Keep the program that the leash asks for."""
    try:
        size, descriptors = 0, list[int]()
        received = b""
        while not size or len(received) < size:
            data, more, _, _ = socket.recv_fds(leash, 1 << 16, MAX_DESCRIPTORS, _CLOEXEC)
            if not data:
                os._exit(0)
            received, descriptors = received + data, descriptors + more
            if not size and len(received) >= 8:
                size, received = int.from_bytes(received[:8], "big"), received[8:]
        request = json.loads(received)
    except (OSError, ValueError):
        os._exit(1)
    keep(leash, lambda: _become(request, descriptors), gives=descriptors[:3])


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Become the program. Raises OSError when that cannot be done."""
    streams, rest = descriptors[:3], descriptors[3:]
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    ruleset = rest.pop() if request["landlock"] is not None else None
    for descriptor in rest:  # the locks that it holds
        os.set_inheritable(descriptor, True)
    if ruleset is not None:
        _restrict(ruleset, request["landlock"], drop=request["drop"])
    os.chdir(os.fsencode(request["cwd"]))
    env = {os.fsencode(name): os.fsencode(value) for name, value in request["env"].items()}
    argv = [os.fsencode(word) for word in request["argv"]]
    os.execvpe(argv[0], argv, env)


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


if __name__ == "__main__":
    control = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # the first three stay taken: what is received gets other numbers
    serve(control)
