"""Pieces of a run for readers in other processes: partial output that no record contains.

The process that executes runs looks for their readers when something happens in one, four times a
second and when one begins, and sends them its pieces. It waits for nobody: what a reader's buffer
does not take is dropped and counted. Records are read from the journal; where there are no such
sockets, a reader has the records only.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from artificer.core.record import EventLine, IntentLine
from artificer.ports import CallProgress
from artificer.runtime.watching.observe import Observer
from artificer.runtime.watching.relayed import FOLDER, LONGEST, RelayedMessage, short_path
from artificer.values.model import Delta

MAX_READERS = 16
"""Readers of one run that are sent anything, over all other processes."""

LOOK_SECONDS = 0.25
"""How often a process that streams looks for new readers."""


class Relay(Observer):
    """Sends the pieces of the runs that are executed here to readers in other processes."""

    def __init__(self, project: Path) -> None:
        """``project`` is the folder of the project's world."""
        self._folder = project / FOLDER
        self._runs: dict[str, _Audience] = {}
        self._looked = 0.0

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Let readers look at the journal."""
        audience = self._runs.get(run)
        if audience is None:
            audience = self._runs[run] = _Audience(self._folder / run)
            audience.look()
        audience.seq = line.seq
        self._look()
        audience.send()

    def streamed(self, run: str, delta: Delta) -> None:
        """Send a piece of a reply."""
        if audience := self._runs.get(run):
            self._look()
            audience.send(delta=delta)

    def progressed(self, run: str, progress: CallProgress) -> None:
        """Send a report of progress."""
        if audience := self._runs.get(run):
            self._look()
            audience.send(progress=progress)

    def idle(self, run: str) -> None:
        """Close the connections: nothing more comes from here."""
        if audience := self._runs.pop(run, None):
            audience.close()

    def _look(self) -> None:
        """Connect to readers that are new: of all runs at once, for mostly there are none."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        for run in self._runs.keys() & _names(self._folder):
            self._runs[run].look()


class _Audience:
    """The readers of one run in other processes. ``seq`` is the number of its last record."""

    __slots__ = ("_folder", "_readers", "seq")

    def __init__(self, folder: Path) -> None:
        self.seq = 0
        self._folder = folder
        self._readers: dict[str, _Connection] = {}

    def send(self, *, delta: Delta | None = None, progress: CallProgress | None = None) -> None:
        """Send a message to everybody who is there."""
        if not self._readers:
            return
        for name, reader in list(self._readers.items()):
            if not reader.send(self.seq, delta, progress):
                self._readers.pop(name).close()

    def close(self) -> None:
        """Close every connection."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def look(self) -> None:
        """Connect to readers that are new."""
        for name in sorted(_names(self._folder) - self._readers.keys()):
            if len(self._readers) >= MAX_READERS:
                return
            if connection := _connected(self._folder, name):
                self._readers[name] = connection


def _names(folder: Path) -> set[str]:
    """Return what is in a folder, if there is one."""
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - called often, and mostly for nothing
    except (OSError, ValueError):  # the second for an id of an older release, with a NUL
        return set()


class _Connection:
    """A connection to one reader. ``missed`` counts pieces that it could not take."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self.missed = 0

    def send(self, seq: int, delta: Delta | None, progress: CallProgress | None) -> bool:
        """Send a message, or count it as missed; return whether the reader is still there."""
        message = RelayedMessage(seq=seq, missed=self.missed, delta=delta, progress=progress)
        data = message.canonical()
        if len(data) > LONGEST:
            self.missed += 1
            return True
        try:
            self._socket.send(data)
            self.missed = 0
        except BlockingIOError:
            self.missed += 1
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()


def _connected(folder: Path, name: str) -> _Connection | None:
    """Connect to a reader. The socket of one that has died is removed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.setblocking(False)
    try:
        with short_path(folder) as path:
            connection.connect(f"{path}/{name}")
    except ConnectionRefusedError:
        connection.close()
        with suppress(OSError):
            (folder / name).unlink()
        return None
    except OSError:
        connection.close()
        return None
    return _Connection(connection)
