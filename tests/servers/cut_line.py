"""A line to a PostgreSQL server that can be cut before or after a commit.

What commits is a COMMIT, or an append that is a transaction by itself.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

from postgres_server import PostgresServer

BEGIN, COMMIT, ROLLBACK = b"BEGIN", b"COMMIT", b"ROLLBACK"
APPEND = b"UPDATE runs SET seq"
NAME = ".s.PGSQL.5432"


class CutLine:
    """A proxy. The next ``spared_commits`` pass; then ``cut_before_commits`` of them never arrive,
    and of ``cut_after_commits`` the answers never do; with ``only_appends``, of lone appends.
    Where it ``stays_cut``, nobody gets through after that until it is mended."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.spared_commits = 0
        self.cut_before_commits = 0
        self.cut_after_commits = 0
        self.only_appends = False
        self.stays_cut = False
        self._folder, self._target = folder, target
        self._unheard: set[socket.socket] = set()
        self._open: set[socket.socket] = set()
        self._is_cut = threading.Event()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / NAME))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url: str) -> str:
        """The same world, through this line."""
        return url.replace(f"host={self._target}", f"host={self._folder}")

    def cut(self) -> None:
        """Let nothing through until :meth:`mend`."""
        self._is_cut.set()
        end(*self._open)

    def wait_until_cut(self) -> None:
        """Wait until a line that stays cut is."""
        assert self._is_cut.wait(60)

    def mend(self) -> None:
        """Let new connections through again."""
        self._is_cut.clear()

    def close(self) -> None:
        """Accept nothing more."""
        end(self._listening)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._is_cut.is_set():
                    client.close()
                    continue
                self._open.add(client)
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._target / NAME))
                for pump in (self._to_server, self._to_client):
                    threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        is_open = False
        with suppress(OSError):
            while data := client.recv(65_536):
                commits = APPEND in data and BEGIN not in data and not is_open
                commits |= COMMIT in data and not self.only_appends
                is_open = (is_open or BEGIN in data) and COMMIT not in data and ROLLBACK not in data
                if not commits:
                    pass
                elif self.spared_commits:
                    self.spared_commits -= 1
                elif self.cut_before_commits:
                    self.cut_before_commits -= 1
                    self._ended()
                    break
                elif self.cut_after_commits:
                    self.cut_after_commits -= 1
                    self._unheard.add(client)
                server.sendall(data)
        end(client, server)

    def _ended(self) -> None:
        if self.stays_cut:
            self.cut()

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if client in self._unheard:
                    self._ended()
                    break  # the server has answered: it has committed
                client.sendall(data)
        end(client, server)


def end(*sockets: socket.socket) -> None:
    """Close sockets, also for threads that wait for them."""
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def cutting(server: PostgresServer) -> Iterator[CutLine]:
    """Open a line to a server."""
    target = Path(parse_qs(urlsplit(server.url("x")).query)["host"][0])
    with TemporaryDirectory(prefix="cut", dir="/tmp") as folder:
        line = CutLine(Path(folder), target)
        try:
            yield line
        finally:
            line.close()
