"""Starting the processes of driver.py, and what they have left in the world outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import preloaded

DRIVER = Path(__file__).with_name("driver.py")
PATIENCE_S = 60


class Driver:
    """A process that does one thing to the run ``r`` of a folder."""

    def __init__(self, folder: Path, **asked: Any) -> None:
        command = [sys.executable, str(DRIVER), json.dumps({"effect": "once", **asked})]
        self._log = (folder / "log").open("ab")
        self._process = preloaded.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def go(self) -> None:
        """Begin."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def outcome(self) -> dict[str, Any]:
        """Begin, and wait for what comes of it."""
        out, _ = self._process.communicate("\n", timeout=PATIENCE_S)
        found: dict[str, Any] = json.loads(out)
        return found

    def end(self) -> dict[str, Any]:
        """Wait for what comes of what was begun."""
        out, _ = self._process.communicate(timeout=PATIENCE_S)
        found: dict[str, Any] = json.loads(out)
        return found

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; after SIGKILL and SIGSTOP it is dead, or stands still."""
        self._process.send_signal(number)
        if number is signal.SIGKILL:
            self._process.wait()
        if number is signal.SIGSTOP:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def gone(self) -> None:
        """Wait for its end, whatever comes of it."""
        self._process.wait(timeout=PATIENCE_S)

    def close(self) -> None:
        """Leave nothing."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class Place:
    """A folder with one world, the processes that drive its run, and the ledger outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._drivers: list[Driver] = []

    def start(self, do: str, **asked: Any) -> Driver:
        """Start a process; it waits for :meth:`Driver.go` or :meth:`Driver.outcome`."""
        driver = Driver(self.folder, do=do, **asked)
        self._drivers.append(driver)
        return driver

    def under_way(self, **asked: Any) -> Driver:
        """A process whose run is in the middle of its call."""
        driver = self.start("run", **asked)
        driver.go()
        self.until(lambda: self.ledger("begin") != [])
        return driver

    def allow(self) -> None:
        """Let the effect happen, wherever it waits."""
        (self.folder / "go").touch()

    def ledger(self, what: str) -> list[int]:
        """The processes that wrote a line of this kind."""
        path = self.folder / "ledger"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [int(line.split()[1]) for line in lines if line.split()[0] == what]

    @staticmethod
    def until(condition: Any) -> None:
        """Wait for something that must come."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "it did not come"
            time.sleep(0.005)

    def close(self) -> None:
        """End what is left: the processes, and those that they left."""
        for driver in self._drivers:
            driver.close()
        for pid in {*self.ledger("begin")}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in b"ZX"
    except OSError:
        return False


@contextlib.contextmanager
def place_in(folder: Path) -> Iterator[Place]:
    """A place, left clean."""
    place = Place(folder)
    try:
        yield place
    finally:
        place.close()
