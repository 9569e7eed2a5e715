"""The servers and processes of benches: PostgreSQL that survives a loss of power, and workers.

Workers are real processes. What they do is read from their logs.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from artificer import Config, World
from artificer.storage.postgres.connection import Database
from measure import ENVIRONMENT, HERE
from small_agent import NAME, agent

TESTS = HERE.parent / "tests"
sys.path += [str(TESTS), str(TESTS / "servers")]

from postgres_server import PostgresServer, postgres  # noqa: E402

SETTINGS = (
    "-c listen_addresses= -c max_connections=200 -c shared_preload_libraries=pg_stat_statements"
)
"""As Debian's package has them: every commit is on the disk before it is answered."""

WITHIN_S = 600
AT_ONCE = 50
SLOTS = 8


@contextmanager
def durable_server() -> Iterator[PostgresServer]:
    """A server that syncs every commit."""
    with postgres(SETTINGS) as server:
        yield server


_schemas = count(1)


def new_world(server: PostgresServer) -> str:
    """The URL of a world that is not there yet."""
    return server.url(f"bench_{next(_schemas)}")


def connected(url: str) -> psycopg.Connection[Any]:
    """A connection as a world has it: the same settings, the same schema."""
    return Database.parse(url, "power", read_only=False).connect()


def opened(url: str, home: Path) -> Any:
    """A world in PostgreSQL, of this process."""
    return World.open(Config(home=home, project="bench", storage=url))


@dataclass
class Done:
    """A run that is over: when a worker began to execute it, and when it was over, in seconds."""

    began: float
    over: float


@dataclass
class BenchWorker:
    """A worker process, as its log shows it."""

    process: subprocess.Popen[bytes]
    log: Path
    done: dict[str, Done] = field(default_factory=dict)
    attempts: int = 0
    ready: bool = False
    _began: dict[str, float] = field(default_factory=dict)
    _read: int = 0

    def look(self) -> None:
        """Read what is new in its log."""
        if self.process.poll() is not None:
            raise SystemExit(f"a worker ended: {self.log.read_text()[-2_000:]}")
        with self.log.open("rb") as file:
            file.seek(self._read)
            lines, end, _ = file.read().rpartition(b"\n")
        self._read += len(lines + end)
        for line in lines.splitlines():
            self._note(json.loads(line))

    def _note(self, entry: dict[str, Any]) -> None:
        at = datetime.fromisoformat(entry["at"]).timestamp()
        match entry["message"]:
            case "ready":
                self.ready = True
            case "executing":
                self.attempts += 1
                self._began[entry["run"]] = at
            case "executed" if entry["ended"] == "over":
                began = self._began.pop(entry["run"])
                self.done.setdefault(entry["run"], Done(began, at))


class BenchWorkers:
    """Workers of one world, each with a folder of its own, as on a machine of its own."""

    def __init__(self, workers: list[BenchWorker]) -> None:
        self._workers = workers

    @property
    def done(self) -> dict[str, Done]:
        """The runs that are over. Of several workers that found one so, the first counts."""
        found: dict[str, Done] = {}
        for worker in self._workers:
            for run, done in worker.done.items():
                if run not in found or done.over < found[run].over:
                    found[run] = done
        return found

    @property
    def attempts(self) -> int:
        """How often a run was begun, also one that another worker had."""
        return sum(worker.attempts for worker in self._workers)

    def until_over(self, runs: int) -> None:
        """Wait until so many runs are over."""
        self._until(lambda: len(self.done) >= runs)

    def until_ready(self) -> None:
        """Wait until all workers work."""
        self._until(lambda: all(worker.ready for worker in self._workers))

    def send(self, number: signal.Signals) -> None:
        """Send all of them a signal."""
        for worker in self._workers:
            worker.process.send_signal(number)

    def _until(self, there: Callable[[], bool]) -> None:
        give_up = time.monotonic() + WITHIN_S
        while time.monotonic() < give_up:
            for worker in self._workers:
                worker.look()
            if there():
                return
            time.sleep(0.2)
        raise SystemExit("the workers do not come to an end")


@contextmanager
def working(url: str, workers: int, dispatcher: str = "local") -> Iterator[BenchWorkers]:
    """Workers that are ready. They are stopped in the end."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = [_start(url, Path(folder) / f"host-{n}", dispatcher) for n in range(workers)]
        try:
            group = BenchWorkers(started)
            group.until_ready()
            yield group
        finally:
            for worker in started:
                worker.process.send_signal(signal.SIGCONT)
                worker.process.terminate()
            for worker in started:
                worker.process.wait()


def _start(url: str, home: Path, dispatcher: str) -> BenchWorker:
    home.mkdir()
    log = home / "log"
    words = ["worker", "--world", url, "--agent", NAME, f"--slots={SLOTS}", "--grace=0"]
    words += ["--dispatcher", dispatcher]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "artificer", *words],
            cwd=HERE,
            env={**ENVIRONMENT, "ARTIFICER_HOME": str(home), "ARTIFICER_PROJECT": "bench"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
        )
    return BenchWorker(process, log)


async def submitted(world: World, prompt: str, tenant: str = "") -> str:
    """Submit a small run, and return its id."""
    return await world.submit(prompt, agent, name=NAME, tenant=tenant)


async def submit_all(url: str, prompts: list[str]) -> None:
    """Submit a small run for each prompt, from a process that executes none."""
    with TemporaryDirectory() as folder:
        async with opened(url, Path(folder)) as world:
            for start in range(0, len(prompts), AT_ONCE):
                batch = prompts[start : start + AT_ONCE]
                await asyncio.gather(*(submitted(world, prompt) for prompt in batch))


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent of all are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
