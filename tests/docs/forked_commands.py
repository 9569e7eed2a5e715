"""The commands of shell scripts, as forks of the server that has imported Artificer.

A small script takes the place of the command ``artificer``, or of an interpreter. It sends its
words, folder, environment and streams to the tests, which start the fork, and ends as the fork
does. When the script is killed, the fork is terminated.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import preloaded

NAME = "ARTIFICER_FORKS"
"""The environment's variable with the name of the socket."""

_SCRIPT = f"""#!{sys.executable} -IS
import json, os, socket, sys
body = {{"words": %s + sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}
body = json.dumps(body).encode()
with socket.socket(socket.AF_UNIX) as tests:
    tests.connect("\\0" + os.environ["{NAME}"])
    socket.send_fds(tests, [len(body).to_bytes(8, "big")], [0, 1, 2])
    tests.sendall(body)
    code = int(tests.recv(16) or 1)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""

_numbers = count()


def install(folder: Path) -> None:
    """Put the command into a folder of the path, if somebody answers it."""
    if NAME in os.environ:
        _write(folder / "artificer", ["-m", "artificer"])


def interpreter(folder: Path) -> str:
    """Return a program that does as ``python`` does, and that somebody must answer."""
    _write(folder / "python", [])
    return str(folder / "python")


def _write(path: Path, words: list[str]) -> None:
    path.write_text(_SCRIPT % words, encoding="utf-8")
    path.chmod(0o755)


@contextlib.contextmanager
def answering() -> Iterator[dict[str, str]]:
    """Start what scripts send. Yields what their environment needs."""
    if preloaded.CLONE is None:
        yield {}
        return
    name = f"artificer-tests-{os.getpid()}-{next(_numbers)}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        accepting = threading.Thread(target=_accept, args=(listening,), daemon=True)
        accepting.start()
        try:
            yield {NAME: name}
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listening: socket.socket) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        while True:
            script, _ = listening.accept()
            threading.Thread(target=_run, args=(script,), daemon=True).start()


def _run(script: socket.socket) -> None:
    with script:
        head, streams, _, _ = socket.recv_fds(script, 8, 3)
        sent = json.loads(preloaded.exactly(script, int.from_bytes(head, "big")))
        stdin, stdout, stderr = streams
        process = preloaded.Popen(
            [sys.executable, *sent["words"]],
            cwd=sent["cwd"],
            env=sent["env"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
        for stream in streams:
            os.close(stream)
        with process, contextlib.closing(_End(process.pid)) as end:
            ready, _, _ = select.select([end, script], [], [])
            if script in ready:  # the script was killed
                process.terminate()
            code = process.wait()
        with contextlib.suppress(OSError):
            script.sendall(str(code).encode())


class _End:
    """The end of a process, as something that can be selected."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        os.close(self._descriptor)
