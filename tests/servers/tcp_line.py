"""A line over TCP to a server, that is cut, and opened again after some tries."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from program_server import HERE, listening


class TcpLine:
    """A proxy. The next ``refused`` connections are ended at once; of the next ``unheard``
    requests the server gets all, and nobody hears its answer."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self.refused = 0
        self.unheard = 0
        self._connect = connect
        self._listening = listening(0)
        self._open: set[socket.socket] = set()
        self.place = f"{HERE}:{self._listening.getsockname()[1]}"
        """Where the line begins: a host and a port."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, tries: int) -> None:
        """End what is open, and let nothing through for so many tries."""
        self.refused = tries
        _end(*self._open)

    def lose_answers(self, requests: int) -> None:
        """Let so many requests through and none of their answers."""
        self.unheard = requests
        _end(*self._open)

    def close(self) -> None:
        """Accept nothing more."""
        _end(self._listening, *self._open)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.refused:
                    self.refused -= 1
                    client.close()
                    continue
                server = self._connect()
                self._open |= {client, server}
                for pump in (self._to_server, self._to_client):
                    threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                server.sendall(data)
        _end(client, server)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if self.unheard:
                    self.unheard -= 1
                    break
                client.sendall(data)
        _end(client, server)


def _end(*sockets: socket.socket) -> None:
    """Close sockets, also for threads that wait for them."""
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def tcp_line(connect: Callable[[], socket.socket]) -> Iterator[TcpLine]:
    """Open a line to a server, which ``connect`` reaches."""
    line = TcpLine(connect)
    try:
        yield line
    finally:
        line.close()
