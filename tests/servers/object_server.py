"""An S3 server of the tests: SeaweedFS, from its wheel."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import randrange

from needs import require

PARTS = ("master", "volume", "filer", "s3")
SECONDS = 120


class ObjectServer:
    """A server with the bucket ``worlds``."""

    def __init__(self, program: str, folder: Path) -> None:
        self._command = [program, "server", "-dir", str(folder), "-ip", "127.0.0.1"]
        self._command += ["-ip.bind", "127.0.0.1", "-filer", "-s3", "-master.volumeSizeLimitMB=64"]
        self._command += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: dict[str, int] = {}

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    def make(self) -> None:
        """Start it for the first time, on ports that are free."""
        for _ in range(5):
            self._ports = dict(zip(PARTS, free_ports(len(PARTS)), strict=True))
            if self.start():
                return
        raise AssertionError(f"SeaweedFS does not start: {self._log.read_text()[-2_000:]}")

    def start(self) -> bool:
        """Start it, and wait until it stores something; False when it could not be started."""
        options = [f"-{part}.port={port}" for part, port in self._ports.items()]
        command = [*self._command, *options]
        quiet, both = subprocess.DEVNULL, subprocess.STDOUT
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=quiet, stdout=log, stderr=both)
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            with suppress(OSError):
                self._put("worlds")  # refused when it is there already
            with suppress(OSError):
                self._put("worlds/ready")
                return True
            time.sleep(0.1)
        self.stop()
        return False

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _put(self, path: str) -> None:
        """Make the bucket or an object. Raises OSError while that is not possible."""
        request = urllib.request.Request(f"{self.endpoint}/{path}", data=b"x", method="PUT")
        with urllib.request.urlopen(request, timeout=30):
            pass


def free_ports(count: int) -> list[int]:
    """Ports that are free, each with the one 10,000 above it, where the server adds another."""
    found: list[int] = []
    while len(found) < count:
        port = randrange(20_000, 30_000)
        with suppress(OSError), listening(port), listening(port + 10_000):
            found.append(port)
    return found


def listening(port: int) -> socket.socket:
    """Take a port. Raises OSError when somebody has it."""
    return socket.create_server(("127.0.0.1", port))


@contextmanager
def objects() -> Iterator[ObjectServer]:
    """Start a server, and stop it in the end. Skips the test where there is none."""
    program = shutil.which("weed") or str(Path(sysconfig.get_path("scripts")) / "weed")
    require("weed", Path(program).exists())
    with tempfile.TemporaryDirectory(prefix="objects", ignore_cleanup_errors=True) as name:
        server = ObjectServer(program, Path(name))
        server.make()
        try:
            yield server
        finally:
            server.stop()
