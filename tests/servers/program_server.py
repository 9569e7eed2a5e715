"""A server of the tests that is a program from a wheel, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import randrange
from typing import ClassVar, Self

from needs import require

SECONDS = 120
HERE = "127.0.0.1"


class ProgramServer(ABC):
    """A server, killed and started again as often as a test wants."""

    PROGRAM: ClassVar[str]
    PORTS: ClassVar[int] = 1
    """How many ports it listens on."""

    def __init__(self, program: str, folder: Path, ip: str = HERE) -> None:
        self.ip = ip
        """Where it listens, and answers."""
        self._program = program
        self._folder = folder
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: list[int] = []

    @abstractmethod
    def command(self) -> list[str]:
        """Return what starts it, after the program."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it answers."""

    def make(self) -> None:
        """Start it for the first time, on ports that are free."""
        for _ in range(5):
            self._ports = free_ports(self.PORTS, self.ip)
            if self.start():
                return
        raise AssertionError(f"{self.PROGRAM} does not start: {self._log.read_text()[-2_000:]}")

    def start(self) -> bool:
        """Start it, and wait until it is ready; False when it could not be started."""
        quiet, both = subprocess.DEVNULL, subprocess.STDOUT
        # Keys of those who use it, which it would take for its own.
        clean = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
        with self._log.open("ab") as log:
            command = [self._program, *self.command()]
            self._process = subprocess.Popen(
                command, env=clean, stdin=quiet, stdout=log, stderr=both
            )
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            if self.is_ready():
                return True
            time.sleep(0.1)
        self.stop()
        return False

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it answer nothing for a while, with all connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @classmethod
    @contextmanager
    def running(cls, ip: str = HERE) -> Iterator[Self]:
        """Start a server, and stop it in the end. Skips the test where there is none."""
        beside = Path(sysconfig.get_path("scripts")) / cls.PROGRAM
        program = shutil.which(cls.PROGRAM) or str(beside)
        require(cls.PROGRAM, Path(program).exists())
        with tempfile.TemporaryDirectory(prefix=cls.PROGRAM, ignore_cleanup_errors=True) as name:
            server = cls(program, Path(name), ip)
            server.make()
            try:
                yield server
            finally:
                server.stop()


def free_ports(count: int, ip: str = HERE) -> list[int]:
    """Ports that are free, each with the one 10,000 above it, where a server may add another."""
    found: list[int] = []
    while len(found) < count:
        port = randrange(20_000, 30_000)
        with suppress(OSError), listening(port, ip), listening(port + 10_000, ip):
            found.append(port)
    return found


def listening(port: int, ip: str = HERE) -> socket.socket:
    """Take a port. Raises OSError when somebody has it."""
    return socket.create_server((ip, port))
