"""Listening to a run that another process executes: the pieces that it streams (`relay`)."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from artificer.errors import InvalidValueError
from artificer.runtime.watching.feed import Subscription
from artificer.runtime.watching.relayed import (
    FOLDER,
    LONGEST,
    RelayedMessage,
    message_reader,
    short_path,
)
from artificer.system.files import private_folder
from artificer.values.arguments import is_file_name


def can_listen() -> bool:
    """Whether this system has what a reader needs."""
    return hasattr(socket, "SOCK_SEQPACKET") and Path("/proc/self/fd").is_dir()


@contextmanager
def listening(project: Path, subscription: Subscription, seen: Callable[[], int]) -> Iterator[None]:
    """Let what another process streams of a run come into a subscription.

    ``seen`` is the number of the last record that was read: a piece from before it is left out,
    because the record has the whole text. Nothing comes where sockets cannot be used, nor of a run
    whose id someone made up.
    """
    if not is_file_name(subscription.run):
        yield
        return
    folder = project / FOLDER / subscription.run
    with ExitStack() as stack:
        with suppress(OSError):
            server = stack.enter_context(_bound(folder))
            loop = asyncio.get_running_loop()
            receiver = _Receiver(server, subscription, seen)
            loop.add_reader(server, receiver.accept)
            stack.callback(receiver.close)
            stack.callback(loop.remove_reader, server)
        yield


@contextmanager
def _bound(folder: Path) -> Iterator[socket.socket]:
    """Yield a socket with its own name in the folder. Raises OSError."""
    private_folder(folder)
    name = secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.setblocking(False)
        with short_path(folder) as path:
            server.bind(f"{path}/{name}")
        try:
            server.listen(1)
            yield server
        finally:
            with suppress(OSError):
                (folder / name).unlink()
                folder.rmdir()  # unless someone else reads, too


class _Receiver:
    """Takes messages from the process that executes a run, and from the one that takes it over."""

    def __init__(
        self, server: socket.socket, subscription: Subscription, seen: Callable[[], int]
    ) -> None:
        self._server = server
        self._subscription = subscription
        self._seen = seen
        self._sender: socket.socket | None = None

    def accept(self) -> None:
        """Take a connection; a newer one replaces the one before it."""
        with suppress(OSError):
            sender, _ = self._server.accept()
            self.close()
            sender.setblocking(False)
            self._sender = sender
            asyncio.get_running_loop().add_reader(sender, self._receive)

    def close(self) -> None:
        """Close the connection."""
        if self._sender is not None:
            asyncio.get_running_loop().remove_reader(self._sender)
            self._sender.close()
            self._sender = None

    def _receive(self) -> None:
        if self._sender is None:
            return
        try:
            data = self._sender.recv(LONGEST + 1)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        with suppress(InvalidValueError):  # another release may send other messages
            self._take(message_reader.read(data))

    def _take(self, message: RelayedMessage) -> None:
        if message.seq >= self._seen():
            if message.missed:
                self._subscription.miss(message.missed)
            if message.delta is not None:
                self._subscription.add_piece(message.delta)
            if message.progress is not None:
                self._subscription.add_piece(message.progress)
        self._subscription.wake()
