"""The workers of pytest-xdist, as forks of one process that has imported Artificer.

Each worker and each server of preloaded.py would import it for itself, with the SDKs. Instead
pytest-xdist starts a small script in the place of each interpreter. The script sends its words,
folder, environment and streams to the process that has imported all, and ends as the fork does.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import preloaded

SCRIPT = """#!{python} -IS
import json, os, socket, sys
argv = [word for word in sys.argv[1:] if word != "-u"]
request = {{"argv": argv, "cwd": os.getcwd(), "env": dict(os.environ), "session": False}}
body = json.dumps(request).encode()
with socket.socket(socket.AF_UNIX) as workers:
    workers.connect({address!r})
    socket.send_fds(workers, [len(body).to_bytes(8, "big")], [0, 1, 2])
    workers.sendall(body)
    os.close(0), os.close(1)
    workers.recv(1)
"""

ASIDE = 100
"""A descriptor above those that a worker closes when it begins."""


def use(config: pytest.Config) -> None:
    """Let the workers that are about to be started be forks, where processes can be forked."""
    places = getattr(config.option, "tx", None) or []
    if preloaded.CLONE is None or config.option.dist == "no" or "popen" not in places:
        return
    folder = tempfile.TemporaryDirectory(prefix="artificer-workers-")
    config.add_cleanup(folder.cleanup)
    address, script = f"{folder.name}/socket", Path(folder.name, "python")
    script.write_text(SCRIPT.format(python=sys.executable, address=address), encoding="utf-8")
    script.chmod(stat.S_IRWXU)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(len(places))
        process = subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
        )
    config.add_cleanup(process.communicate)
    forked = f"popen//python={script}"
    config.option.tx = [forked if place == "popen" else place for place in places]


def leave_as_they_are() -> None:
    """Tell pytest that plug-ins which others have imported keep their assertions as they are."""
    for plugin in entry_points(group="pytest11"):
        if module := sys.modules.get(plugin.module.partition(".")[0]):
            module.__doc__ = f"{module.__doc__ or ''} PYTEST_DONT_REWRITE"


def main() -> None:
    """Fork a worker for each script, until the tests close the standard input."""
    preloaded.preload()
    leave_as_they_are()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        while listening in select.select([listening, 0], [], [])[0]:
            script, _ = listening.accept()
            with script:
                request, streams = next(preloaded.requests(script))
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    listening.close()
                    fcntl.fcntl(script, fcntl.F_DUPFD_CLOEXEC, ASIDE)  # closed by the worker's end
                    preloaded.become_worker(request, streams)
                for stream in streams:
                    os.close(stream)


if __name__ == "__main__":
    main()
