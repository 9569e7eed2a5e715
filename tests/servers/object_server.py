"""An S3 server of the tests: SeaweedFS, from its wheel."""

from __future__ import annotations

import urllib.request
from contextlib import suppress

from program_server import ProgramServer

PARTS = ("master", "volume", "filer", "s3")


class ObjectServer(ProgramServer):
    """A server with the bucket ``worlds``."""

    PROGRAM = "weed"
    PORTS = len(PARTS)

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        return f"http://{self.ip}:{self._ports[PARTS.index('s3')]}"

    def command(self) -> list[str]:
        """Return what starts it, after the program."""
        command = ["server", "-dir", str(self._folder), "-ip", self.ip]
        command += ["-ip.bind", self.ip, "-filer", "-s3", "-master.volumeSizeLimitMB=64"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
        ports = zip(PARTS, self._ports, strict=True)
        return [*command, *(f"-{part}.port={port}" for part, port in ports)]

    def is_ready(self) -> bool:
        """Whether it stores something."""
        with suppress(OSError):
            self._put("worlds")  # refused when it is there already
        with suppress(OSError):
            self._put("worlds/ready")
            return True
        return False

    def _put(self, path: str) -> None:
        """Make the bucket or an object. Raises OSError while that is not possible."""
        request = urllib.request.Request(f"{self.endpoint}/{path}", data=b"x", method="PUT")
        with urllib.request.urlopen(request, timeout=30):
            pass
