"""The metrics of a worker, and the server that exposes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from artificer.dispatch.course import WorkerReport
from artificer.dispatch.over_http import HttpWorker
from artificer.dispatch.worker import Worker
from artificer.health.exposition import Metric, single
from artificer.health.health import Health
from artificer.health.server import HealthServer, place_of
from artificer.ownership.local import LocalOwner
from artificer.runtime.limits.permits import PermitKeeper
from artificer.world import World, storage_of


def health_of(world: World, worker: Worker) -> Health:
    """Return the health of a worker that has its world."""
    storage = storage_of(world)
    return Health(
        world,
        lambda: worker_metrics(worker.report()),
        lambda: permit_metrics(storage.permits),
        lambda: lease_metrics(storage.owner),
        draining=lambda: worker.report().draining,
    )


def health_over_http(world: World, worker: HttpWorker) -> Health:
    """Return the health of a worker whose world a studio has, which tells more of it."""
    storage = storage_of(world)
    return Health(
        world,
        lambda: worker_metrics(worker.report()),
        lambda: permit_metrics(storage.permits),
        draining=lambda: worker.report().draining,
        own_problem=worker.problem,
    )


@asynccontextmanager
async def served(health: Health, place: str | None) -> AsyncIterator[dict[str, str]]:
    """Serve health at a place; yield the address as a fact to log, or none for no place.

    Raises:
        ConfigError: it is not a place to listen.
        OperatorError: the port is taken.
    """
    if place is None:
        yield {}
        return
    async with HealthServer(health, *place_of(place)) as server:
        yield {"health": server.address}


def worker_metrics(report: WorkerReport) -> Iterator[Metric]:
    """Yield what a worker does and has done."""
    text = "Runs that this worker is executing."
    yield single("artificer_executing_runs", "gauge", text, len(report.executing))
    longest = max(report.executing.values(), default=0)
    text = "Seconds since the oldest segment in progress started."
    yield single("artificer_longest_segment_seconds", "gauge", text, longest)
    text = "Segments that this worker has executed, by how they ended."
    yield Metric("artificer_segments_total", "counter", text, report.ended, "ended")
    if report.backlog is None:
        return
    backlog = {"open": report.backlog.open, "stalled": report.backlog.stalled}
    text = "Submitted runs that had not ended at the last sweep."
    yield Metric("artificer_submitted_runs", "gauge", text, backlog, "status")


def permit_metrics(permits: PermitKeeper) -> Iterator[Metric]:
    """Yield what this process holds of shared limits, and what waits for them."""
    text = "Permits of shared limits that this worker holds: runs in lanes, requests to models."
    yield Metric("artificer_held_permits", "gauge", text, permits.held, "limit")
    text = "Requests to models that wait here for a permit of a shared limit."
    yield Metric("artificer_waiting_requests", "gauge", text, +permits.waiting, "limit")


def lease_metrics(owner: LocalOwner) -> Iterator[Metric]:
    """Yield how often the lease of this process ended, so that others could take its runs."""
    text = "How often this worker's lease ended before it was renewed."
    yield single("artificer_lost_leases_total", "counter", text, owner.lapses)
