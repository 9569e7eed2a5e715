"""The faults of a cluster. Each is a coroutine that strikes, waits, and makes good again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

from cluster_hosts import SERVERS
from cluster_stage import ClusterStage, CrashWorker


class Chance:
    """Everything left to chance in a trial, all of it by its seed. No worker is chosen twice."""

    def __init__(self, seed: str, stage: ClusterStage) -> None:
        self._random = Random(seed)
        self._left = list(stage.workers)
        self.stage = stage
        self.lease = stage.facts.lease
        self.said: list[str] = []

    def worker(self) -> CrashWorker:
        """Choose a worker."""
        found = self._random.choice(self._left)
        self._left.remove(found)
        return found

    def leases(self, least: float, most: float) -> float:
        """Choose a time, in lengths of a lease; return it in seconds."""
        return self._random.uniform(least, most) * self.lease

    def number(self, least: int, most: int) -> int:
        """Choose a number."""
        return self._random.randint(least, most)

    def some(self, count: int) -> list[str]:
        """Choose so many faults."""
        return self._random.sample([name for name in FAULTS if name in self.possible], count)

    @property
    def possible(self) -> list[str]:
        """The faults of this cluster, without those of servers that it has not."""
        missing = [name for name in SERVERS if name not in self.stage.servers.addresses]
        return [name for name in FAULTS if not name.endswith(tuple(missing or ("-",)))]

    async def wait(self, seconds: float, what: str) -> None:
        """Let it last."""
        self.said.append(f"{what} for {seconds:.1f} s")
        await asyncio.sleep(seconds)


async def killed(chance: Chance) -> None:
    """Kill a worker. It is started again on its host, before or after its lease has ended."""
    worker = chance.worker()
    worker.kill()
    await chance.wait(chance.leases(0, 3), f"worker {worker.number} was dead")
    worker.start()


async def stopped(chance: Chance) -> None:
    """Stop a worker, and continue it some time after its lease has ended."""
    worker = chance.worker()
    worker.send(signal.SIGSTOP)
    await chance.wait(chance.leases(1.5, 4), f"worker {worker.number} stood still")
    worker.send(signal.SIGCONT)


async def cut_off(server: str, chance: Chance) -> None:
    """Cut a worker off from a server, for a moment or for longer than its lease."""
    worker = chance.worker()
    chance.stage.hosts.cut(worker.number, server)
    seconds = chance.leases(0.2, 3)
    await chance.wait(seconds, f"worker {worker.number} was cut off from {server}")
    chance.stage.hosts.mend(worker.number, server)


async def cut_off_from_all(chance: Chance) -> None:
    """Cut a worker off from everything."""
    worker = chance.worker()
    for server in chance.stage.servers.addresses:
        chance.stage.hosts.cut(worker.number, server)
    seconds = chance.leases(0.2, 3)
    await chance.wait(seconds, f"worker {worker.number} was cut off from everything")
    for server in chance.stage.servers.addresses:
        chance.stage.hosts.mend(worker.number, server)


async def server_killed(server: str, chance: Chance) -> None:
    """Kill a server, and start it again."""
    running = chance.stage.servers.running[server]
    await asyncio.to_thread(running.stop)
    await chance.wait(chance.leases(0, 2), f"{server} was dead")
    if await asyncio.to_thread(running.start) is False:
        raise SystemExit(f"{server} does not start again")


async def killed_behind_a_cut(chance: Chance) -> None:
    """Kill PostgreSQL, and start it again, while a worker is cut off: nobody tells the worker."""
    worker = chance.worker()
    chance.stage.hosts.cut(worker.number, "postgres")
    await chance.wait(chance.leases(0.1, 0.5), f"worker {worker.number} was cut off from postgres")
    await server_killed("postgres", chance)
    await chance.wait(chance.leases(0, 2), "after that it was cut off")
    chance.stage.hosts.mend(worker.number, "postgres")


async def several(chance: Chance) -> None:
    """Three of the others, one beginning while another goes on."""
    names = chance.some(3)
    chance.said.append(f"{', '.join(names)}:")

    async def later(name: str) -> None:
        await asyncio.sleep(chance.leases(0, 1))
        await FAULTS[name](chance)

    await asyncio.gather(*(later(name) for name in names))


Fault = Callable[[Chance], Awaitable[None]]

FAULTS: dict[str, Fault] = {
    "a worker is killed": killed,
    "a worker stands still beyond its lease": stopped,
    **{f"a worker is cut off from {server}": partial(cut_off, server) for server in SERVERS},
    "a worker is cut off from everything": cut_off_from_all,
    **{f"death and restart of {server}": partial(server_killed, server) for server in SERVERS},
    "PostgreSQL restarts behind a cut": killed_behind_a_cut,
}
"""Each fault, by the name of its row."""

SEVERAL = "three of these at once"
