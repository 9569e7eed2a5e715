"""Whether a process can do its work, and what it has done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator

from artificer.archive import unreachable
from artificer.errors import ArtificerError
from artificer.health.exposition import Metric, exposition, single
from artificer.health.tally import Tally
from artificer.values.release import RELEASE
from artificer.world import World, observe

log = logging.getLogger("artificer.health")

PATIENCE_S = 5.0
"""How long a storage may take to answer."""

KEPT_S = 2.0
"""How long an answer is used again: many who ask ask the storage once."""

_OLDEST = {
    "open": "Seconds since the oldest run began that is open: none for 0.",
    "queued": "Seconds that the oldest run waits which no worker has begun: none for 0.",
}
"""The help of the metric of the oldest run, by its status."""

MetricSource = Callable[[], Iterable[Metric]]

Drained = Callable[[], bool]


class Health:
    """The health of one process and its world.

    It counts from now on. ``sources`` are further metrics; ``draining`` says that the process
    takes nothing new. A process that may not look at the world has an ``own_problem``, which says
    why it can do no work now, and tells nothing of the world.
    """

    def __init__(
        self,
        world: World,
        *sources: MetricSource,
        draining: Drained = lambda: False,
        own_problem: Callable[[], str] | None = None,
    ) -> None:
        self._world = world
        self._tally = Tally()
        self._sources = (self._tally.metrics, *sources)
        self._draining = draining
        self._own_problem = own_problem
        self._asking: asyncio.Task[str] | None = None
        self._until = 0.0
        observe(world, self._tally)

    async def problem(self) -> str:
        """Return why this process can do no work now, in a word; nothing if it can."""
        if self._draining():
            return "draining"
        if self._own_problem is not None:
            return self._own_problem()
        loop = asyncio.get_running_loop()
        if self._asking is None or (self._asking.done() and loop.time() >= self._until):
            self._asking = loop.create_task(self._ask(), name="readiness")
            self._until = loop.time() + KEPT_S
        done, _ = await asyncio.wait((self._asking,), timeout=PATIENCE_S)
        return self._asking.result() if done else "journal"

    async def metrics(self) -> str:
        """Return all metrics as text. What the storage cannot say now is left out."""
        found = [single("artificer_up", "gauge", "The process answers.", 1)]
        info = Metric("artificer_info", "gauge", "The release.", {RELEASE: 1}, "version")
        found += [info, *(metric for source in self._sources for metric in source())]
        problem = await self.problem()
        found.append(single("artificer_ready", "gauge", "It can work.", not problem))
        if self._own_problem is None and problem in ("", "draining"):
            try:
                async with asyncio.timeout(PATIENCE_S):
                    found += await self._of_world()
            except (ArtificerError, TimeoutError) as error:
                log.warning("the world cannot be measured: %s", type(error).__name__)
        return exposition(found)

    async def _ask(self) -> str:
        where = await unreachable(self._world.archive)
        if where:
            log.warning("the %s cannot be reached", where)
        return where

    async def _of_world(self) -> list[Metric]:
        archive, now = self._world.archive, self._world.clock.now()
        spent = (await archive.budget()).spent
        text = "Runs of the world by how they stand, as its index has them."
        metrics = [
            Metric("artificer_runs", "gauge", text, await archive.count_runs(), "status"),
            *_spent(spent.settled.tokens, spent.settled.micros),
        ]
        for status, text in _OLDEST.items():
            first = await archive.list_runs(1, status=status, oldest_first=True, at_once=True)
            age = max(0, now - first.runs[0].at) / 1000 if first.runs else 0
            metrics.append(single(f"artificer_oldest_{status}_run_seconds", "gauge", text, age))
        return metrics


def _spent(tokens: int, micros: int) -> Iterator[Metric]:
    yield single("artificer_spent_today_tokens", "gauge", "Tokens of the world today.", tokens)
    text = "Known cost of the world today."
    yield single("artificer_spent_today_dollars", "gauge", text, micros / 1_000_000)
