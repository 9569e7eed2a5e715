"""A trial's stage: a world of its own, hosts with a worker each, and runs that people submit."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from cluster_hosts import SERVERS, Hosts
from cluster_orders import CHARGES, NAME, OUTSIDE, agent, lines
from cluster_servers import Servers
from psycopg import sql

from artificer import Config, World
from artificer.errors import ArtificerError

HERE = Path(__file__).parent
PROJECT = "orders"

OPEN = ("open", "stalled", "waiting", "paused")
"""How runs stand that are not over."""

Records = dict[tuple[str, int], str]
"""The hashes of records, by run and number."""


@dataclass(frozen=True)
class Facts:
    """The sizes of a trial. ``lease`` is in seconds; so is ``patience``, until runs are over."""

    dispatcher: str
    hosts: int = 3
    runs: int = 60
    slots: int = 4
    lease: float = 3.0
    patience: float = 150.0


class CrashWorker:
    """A worker process of one host, started again and again in the same folder."""

    def __init__(self, hosts: Hosts, number: int, folder: Path, environment: Mapping[str, str]):
        self.number = number
        self._hosts, self._folder, self._environment = hosts, folder, environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-m", "artificer", "worker", "--grace", "2"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._hosts.within(self.number, self._folder, command),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    @property
    def ended(self) -> int | None:
        """How it ended; None while it lives."""
        assert self._process is not None
        return self._process.poll()

    def kill(self) -> None:
        """Kill it, and wait until it is dead."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class ClusterStage:
    """One trial. Nothing here goes through cables that are cut."""

    def __init__(
        self, facts: Facts, hosts: Hosts, servers: Servers, folder: Path, name: str
    ) -> None:
        self.facts, self.hosts, self.servers, self.name = facts, hosts, servers, name
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.submitted: list[str] = []
        self.seen: Records = {}
        """All records that were read at any time: none may be gone later."""
        self._folder = folder
        self._environment = {
            **{key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ},
            **{f"AWS_{key}": "test" for key in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION")},
            "AWS_ALLOW_HTTP": "true",
            "ARTIFICER_PROJECT": PROJECT,
            "PYTHONPATH": str(HERE),
            OUTSIDE: str(self.outside),
        }
        os.environ.update(self._environment | {"AWS_ENDPOINT_URL": self._objects(None)})
        storage = servers.world(name, servers.addresses["postgres"])
        self.config = Config(
            home=folder / "home", project=PROJECT, storage=storage, lease_seconds=facts.lease
        )
        self.workers = [self._worker(number) for number in range(facts.hosts)]

    def _objects(self, host: int | None) -> str:
        real = self.servers.addresses["objects"]
        ip, port = real if host is None else self.hosts.at(host, "objects", real)
        return f"http://{ip}:{port}"

    def _worker(self, number: int) -> CrashWorker:
        folder = self._folder / f"host-{number}"
        folder.mkdir()
        real = self.servers.addresses
        at = {server: self.hosts.at(number, server, real[server]) for server in real}
        dispatcher = "local"
        if self.facts.dispatcher == "temporal":
            ip, port = at["temporal"]
            dispatcher = f"temporal://{ip}:{port}/default?beat=2&queue={self.name}"
        (folder / "artificer.toml").write_text(
            f'storage = "{self.servers.world(self.name, at["postgres"])}"\n'
            f"lease_seconds = {self.facts.lease}\n"
            f'[worker]\ndispatcher = "{dispatcher}"\n'
            f'agents = ["{NAME}"]\nslots = {self.facts.slots}\n'
        )
        environment = {**self._environment, "ARTIFICER_HOME": str(folder / "home")}
        environment["AWS_ENDPOINT_URL"] = self._objects(number)
        return CrashWorker(self.hosts, number, folder, environment)

    # --- people -------------------------------------------------------------------------------

    async def submit(self, world: World, until: asyncio.Event) -> None:
        """Submit runs, one after the other, until there are enough of them; more than half at once.

        ``until`` is set when nothing more happens to the cluster.
        """
        for number in range(self.facts.runs):
            if number > self.facts.runs // 2 and not until.is_set():
                await asyncio.sleep(self.facts.lease * 3 / self.facts.runs)
            await self._submit(world, f"order-{number}")

    async def _submit(self, world: World, order: str) -> None:
        """Submit one, again and again while the servers are away."""
        give_up = time.monotonic() + self.facts.patience
        while True:
            try:
                await world.submit(f"Please place order {order}.", agent, name=NAME, run_id=order)
                break
            except ArtificerError as error:
                if "already exists" in error.message:
                    break
                if time.monotonic() > give_up:
                    raise
                await asyncio.sleep(0.5)
        self.submitted.append(order)

    # --- looking ------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Read the records that are there, again and again."""
        while True:
            with suppress(psycopg.Error):
                self.seen.update(await asyncio.to_thread(self.records))
            await asyncio.sleep(0.5)

    def records(self) -> Records:
        """All records that are in the database now."""
        rows = self._rows("SELECT run, seq, hash FROM {}.records")
        return {(run, seq): hash for run, seq, hash in rows}

    def leases_left(self) -> dict[str, float]:
        """The seconds that are left of the leases, by hosts, the longest of each."""
        query = (
            "SELECT host, max(extract(epoch FROM until - clock_timestamp()))::float8 "
            "FROM {}.owners GROUP BY host"
        )
        return dict(self._rows(query))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        conninfo = self.config.storage.partition("?")[0]
        with psycopg.connect(conninfo, connect_timeout=2) as db:
            return db.execute(sql.SQL(query).format(sql.Identifier(self.name))).fetchall()

    @property
    def charges(self) -> int:
        """How many charges there were so far."""
        return len(lines(self.outside, CHARGES))

    async def until_over(self, world: World) -> set[str]:
        """Wait until all runs are over, or patience is; return those that are."""
        over = set[str]()
        give_up = time.monotonic() + self.facts.patience
        while len(over) < len(self.submitted) and time.monotonic() < give_up:
            page = await world.archive.list_runs(1000)
            over = {run.run for run in page.runs if run.status not in OPEN}
            await asyncio.sleep(0.3)
        return over

    async def until(self, there: Callable[[], bool], seconds: float) -> bool:
        """Wait for something; return whether it came."""
        give_up = time.monotonic() + seconds
        while not there():
            if time.monotonic() > give_up:
                return False
            await asyncio.sleep(0.05)
        return True

    # --- the end ------------------------------------------------------------------------------

    def mend_all(self) -> None:
        """Let everything through."""
        for worker in self.workers:
            for server in SERVERS:
                if server in self.servers.addresses:
                    self.hosts.mend(worker.number, server)

    def kill_all(self) -> None:
        """Leave no worker."""
        for worker in self.workers:
            worker.kill()

    def log(self) -> str:
        """The output of the workers."""
        return "\n".join(
            f"--- {path.parent.name}\n{path.read_text(errors='replace')}"
            for path in sorted(self._folder.glob("host-*/log"))
        )
