"""The metrics of a worker, and the server that tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from artificer.dispatch.worker import Worker
from artificer.health.exposition import Metric, single
from artificer.health.health import Health
from artificer.health.server import HealthServer, place_of
from artificer.ownership.local import LocalOwner
from artificer.runtime.permits import PermitKeeper
from artificer.world import World, storage_of


@asynccontextmanager
async def health_served(world: World, worker: Worker, place: str | None) -> AsyncIterator[str]:
    """Serve the health of a worker at a place; yield its address, or nothing for no place.

    Raises:
        ConfigError: it is no place to listen.
        OperatorError: the port is taken.
    """
    if place is None:
        yield ""
        return
    storage = storage_of(world)
    health = Health(
        world,
        lambda: worker_metrics(worker),
        lambda: permit_metrics(storage.permits),
        lambda: lease_metrics(storage.owner),
        draining=lambda: worker.report().draining,
    )
    async with HealthServer(health, *place_of(place)) as server:
        yield server.address


def worker_metrics(worker: Worker) -> Iterator[Metric]:
    """Yield what a worker does and has done."""
    report = worker.report()
    text = "Runs that this worker executes now."
    yield single("artificer_executing_runs", "gauge", text, len(report.executing))
    longest = max(report.executing.values(), default=0)
    text = "Seconds since the oldest segment under way began."
    yield single("artificer_longest_segment_seconds", "gauge", text, longest)
    text = "Segments that this worker has executed, by how they ended."
    yield Metric("artificer_segments_total", "counter", text, report.ended, "ended")
    backlog = {"open": report.backlog.open, "stalled": report.backlog.stalled}
    text = "Submitted runs that were not over at the last sweep."
    yield Metric("artificer_submitted_runs", "gauge", text, backlog, "status")


def permit_metrics(permits: PermitKeeper) -> Iterator[Metric]:
    """Yield what this process holds of shared limits, and what waits for them."""
    text = "Permits of shared limits that this worker holds: runs in lanes, requests to models."
    yield Metric("artificer_held_permits", "gauge", text, permits.held, "limit")
    text = "Requests to models that wait here for room in a shared limit."
    yield Metric("artificer_waiting_requests", "gauge", text, +permits.waiting, "limit")


def lease_metrics(owner: LocalOwner) -> Iterator[Metric]:
    """Yield how often others could take the runs of this process, because it was not heard of."""
    text = "How often the lease of this worker has ended before it was renewed."
    yield single("artificer_lost_leases_total", "counter", text, owner.lapses)
