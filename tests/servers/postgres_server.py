"""A PostgreSQL server of the tests, from Debian's package, on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from needs import require

SETTINGS = "-c listen_addresses= -c max_connections=200 -c fsync=off -c full_page_writes=off"
"""Nothing here is to survive a loss of power: `fsync` would only take time."""


def programs() -> Path | None:
    """The folder of the newest server's programs, which are not on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


class PostgresServer:
    """A server in ``folder``."""

    def __init__(self, folder: Path, bin: Path, settings: str = SETTINGS) -> None:
        self._settings = settings
        self._folder = folder
        self._bin = bin
        self._sockets = folder / "s"

    @property
    def sockets(self) -> Path:
        """The folder of the socket on which it listens."""
        return self._sockets

    def own(self) -> None:
        """Give the folder to the user as whom the server runs."""
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres")

    def make(self) -> None:
        """Make the files of the server."""
        self.own()
        self._run("initdb", "-U", "artificer", "-A", "trust", "-N", "-E", "UTF8")
        self._do("mkdir", str(self._sockets))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"{self._settings} -c unix_socket_directories={self._sockets}"
        self._run(
            "pg_ctl", "-w", "-t", "120", "-l", str(self._folder / "log"), "-o", options, "start"
        )

    def stop(self, how: str = "immediate") -> None:
        """Stop it. ``immediate`` is as if it was killed."""
        self._run("pg_ctl", "-w", "-t", "120", "-m", how, "stop")

    def url(self, schema: str, user: str = "artificer") -> str:
        """The URL of a world in one of its schemas."""
        return f"postgresql://{user}@/postgres?host={self._sockets}&schema={schema}"

    def _run(self, program: str, *arguments: str) -> None:
        self._do(str(self._bin / program), "-D", str(self._folder / "data"), *arguments)

    def _do(self, *command: str) -> None:
        # The server refuses to be root's.
        prefix = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        whole = (*(prefix if os.getuid() == 0 else ()), *command)
        # Its output goes nowhere: the server would keep a pipe of the tests open.
        quiet = subprocess.DEVNULL
        subprocess.run(whole, cwd="/", check=True, stdin=quiet, stdout=quiet, stderr=quiet)


@contextmanager
def postgres(settings: str = SETTINGS) -> Iterator[PostgresServer]:
    """Start a server, and stop it in the end. Skips the test where there is none."""
    bin = programs()
    require("pg_ctlcluster", bin is not None)
    assert bin is not None
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as name:  # sockets want short paths
        server = PostgresServer(Path(name), bin, settings)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
