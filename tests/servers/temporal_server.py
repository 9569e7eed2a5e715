"""A Temporal server of the tests, from its wheel: it keeps everything in a file.

What it has answered survives that it is killed. It does not wait for the disk, which takes most of
its time otherwise.
"""

from __future__ import annotations

import subprocess

from program_server import HERE, ProgramServer


class TemporalServer(ProgramServer):
    """A server with the namespace ``default``."""

    PROGRAM = "temporal"

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"{self.ip}:{self._ports[0]}"

    def command(self) -> list[str]:
        """Return what starts it, after the program."""
        command = ["server", "start-dev", "--headless", "--log-level", "error"]
        ip = HERE if self.ip == HERE else "0.0.0.0"  # its parts talk to each other there
        command += ["--ip", ip, "--port", str(self._ports[0]), "--http-port", "0"]
        command += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"]
        return [*command, "--db-filename", str(self._folder / "temporal.db")]

    def is_ready(self) -> bool:
        """Whether it describes the namespace."""
        command = [self._program, "operator", "namespace", "describe", "-n", "default"]
        command += ["--address", self.address]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
