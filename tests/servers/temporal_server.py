"""A Temporal server of the tests, from its wheel: it keeps everything in a file."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from object_server import free_ports

from needs import require

SECONDS = 120


class TemporalServer:
    """A server with the namespace ``default``."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"127.0.0.1:{self._port}"

    def make(self) -> None:
        """Start it for the first time, on a port that is free."""
        for _ in range(5):
            (self._port,) = free_ports(1)
            if self.start():
                return
        raise AssertionError(f"Temporal does not start: {self._log.read_text()[-2_000:]}")

    def start(self) -> bool:
        """Start it, and wait until it answers; False when it could not be started."""
        command = [self._program, "server", "start-dev", "--headless", "--log-level", "error"]
        command += ["--ip", "127.0.0.1", "--port", str(self._port), "--http-port", "0"]
        command += ["--db-filename", str(self._folder / "temporal.db")]
        quiet = subprocess.DEVNULL
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=quiet, stdout=log, stderr=subprocess.STDOUT
            )
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            if self._is_healthy():
                return True
            time.sleep(0.1)
        self.stop()
        return False

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _is_healthy(self) -> bool:
        command = [self._program, "operator", "namespace", "describe", "-n", "default"]
        command += ["--address", self.address]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def temporal() -> Iterator[TemporalServer]:
    """Start a server, and stop it in the end. Skips the test where there is none."""
    program = shutil.which("temporal") or str(Path(sysconfig.get_path("scripts")) / "temporal")
    require("temporal", Path(program).exists())
    with tempfile.TemporaryDirectory(prefix="temporal", ignore_cleanup_errors=True) as name:
        server = TemporalServer(program, Path(name))
        server.make()
        try:
            yield server
        finally:
            server.stop()
