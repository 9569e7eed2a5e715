"""A replica of a PostgreSQL server of the tests, which may be behind, and be promoted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory

from postgres_server import SETTINGS, PostgresServer, programs


class Replica(PostgresServer):
    """A server that follows another one until it is promoted."""

    def follow(self, primary: PostgresServer) -> None:
        """Copy all files of a server, and get what it writes from now on."""
        self.own()
        self._do("mkdir", str(self._sockets))
        where = ("-h", str(primary.sockets), "-U", "artificer")
        self._run("pg_basebackup", *where, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self.start()

    def promote(self) -> None:
        """Let it follow no more, and take writes."""
        self._run("pg_ctl", "-w", "-t", "120", "promote")


@contextmanager
def replica_of(primary: PostgresServer) -> Iterator[Replica]:
    """Start a replica, and stop it in the end."""
    bin = programs()
    assert bin is not None
    with TemporaryDirectory(prefix="pg", dir="/tmp") as name:
        server = Replica(Path(name), bin, SETTINGS)
        server.follow(primary)
        try:
            yield server
        finally:
            with suppress(CalledProcessError):  # the test has stopped it
                server.stop()
