"""Workers of one world in PostgreSQL: an append, many small runs, waiting, fairness, and costs.

    python bench/cluster.py [--runs 300] [--flood 500] [--only throughput,waits] [--temporal 0]

A small run has two replies of a scripted model and one call, submitted by this process and executed
by real `artificer worker` processes with 8 slots each. The PostgreSQL server syncs every commit.
All is on this machine: what three workers do more than one is bounded by its cores.

Runs are submitted while the workers are stopped, so that only executing them is timed: from the
first that is begun until all are over. The bare database gets the rows of as many such runs, in as
many transactions, over 8 connections. The bare dispatchers hand out runs that do nothing. The runs
are executed by workers that agree in PostgreSQL, and again by workers that a Temporal server hands
them; ``--temporal 0`` leaves that out.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cluster_appends
import cluster_temporal
from cluster_bare import sample, written_bare
from cluster_kit import (
    AT_ONCE,
    PostgresServer,
    connected,
    durable_server,
    new_world,
    opened,
    percentile,
    submit_all,
    submitted,
    working,
)
from cluster_runs import FEW, executed, handed_out, wait_rows, waited, waits
from measure import Row, main

WORKERS = (1, 3)


def beside_a_flood(server: PostgresServer, flood: int) -> list[float]:
    """Seconds that a tenant's few runs wait behind many of another one. Without these: alone."""
    url = new_world(server)
    with working(url, 1) as group:
        asyncio.run(waits(url, group, FEW, 0, "warm"))
        if flood:
            group.send(signal.SIGSTOP)
            asyncio.run(flooded(url, flood))
            group.send(signal.SIGCONT)
            group.until_over(FEW + flood // 10)
        return asyncio.run(waits(url, group, FEW, 0, "acme", FEW + flood))


async def flooded(url: str, runs: int) -> None:
    with TemporaryDirectory() as folder:
        async with opened(url, Path(folder)) as world:
            for _ in range(0, runs, AT_ONCE):
                prompts = (f"Add {n} and 2." for n in range(AT_ONCE))
                await asyncio.gather(*(submitted(world, text, "flood") for text in prompts))


COSTS = {
    "statements": "SELECT sum(calls)::float8 FROM pg_stat_statements "
    "WHERE query NOT LIKE '%pg_stat_statements%'",
    "transactions with records or notes": "SELECT count(DISTINCT xid::text)::float8 FROM "
    "(SELECT xid FROM records UNION ALL SELECT xid FROM notes) AS lines",
    "records": "SELECT count(*)::float8 FROM records",
    "KiB of records": "SELECT sum(octet_length(body)) / 1024.0 FROM records",
    "notes": "SELECT count(*)::float8 FROM notes",
    "KiB of blobs": "SELECT sum(octet_length(data)) / 1024.0 FROM blobs",
    "KiB of tables and indexes": "SELECT sum(pg_total_relation_size(c.oid)) / 1024.0 FROM pg_class "
    "c WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'",
    "KiB of WAL": "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') / 1024.0",
}

CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
JOINED = (
    "SELECT (SELECT count(*) FROM chain) = "
    "(SELECT count(*) FROM records) + (SELECT count(*) FROM notes)"
)
IDLE_S = 5


def costs(server: PostgresServer, runs: int) -> Iterator[Row]:
    """Costs of one run, submitted and executed by one worker among others."""
    url = new_world(server)
    with connected(url) as db, working(url, 1) as group:
        db.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public")
        db.execute("SET search_path = " + url.rpartition("=")[2] + ", public")
        asyncio.run(waits(url, group, FEW, 0, "warm"))
        idle = _idle(db)
        db.execute("SELECT pg_stat_statements_reset()")
        before = _costs(db)
        asyncio.run(submit_all(url, [f"Add 1 and 2, for {n}." for n in range(runs)]))
        group.until_over(FEW + runs)
        _until_joined(db)
        after = _costs(db)
        held = float(db.execute(CONNECTIONS).fetchone()[0])
    for name in COSTS:
        yield Row(f"a small run: {name}", "each", (after[name] - before[name]) / runs)
    yield Row("a worker: connections after that", "each", held)
    yield Row("a worker: statements in a second, idle", "each", idle)


def _idle(db: Any) -> float:
    """How many statements a second a worker sends that has nothing to do."""
    _until_joined(db)
    db.execute("SELECT pg_stat_statements_reset()")
    time.sleep(IDLE_S)
    return _costs(db)["statements"] / IDLE_S


def _until_joined(db: Any) -> None:
    while not db.execute(JOINED).fetchone()[0]:
        time.sleep(0.5)


def _costs(db: Any) -> dict[str, float]:
    return {name: float(db.execute(query).fetchone()[0] or 0) for name, query in COSTS.items()}


def throughput(server: PostgresServer, runs: int, temporal: int) -> Iterator[Row]:
    found = {workers: executed(server, runs, workers) for workers in WORKERS}
    one, three = found.values()
    rate = "runs/s"
    yield Row(f"{runs:,} small runs, three workers / one", rate, three.rate, one.rate)
    yield Row("how often three workers begin a run / one", "times", three.attempts, one.attempts)
    floor = written_bare(server, asyncio.run(sample(new_world(server))), runs)
    yield Row("three workers / bare PostgreSQL writing the same rows", rate, three.rate, floor)
    local = asyncio.run(handed_out("local", runs))
    yield Row("three workers / the dispatcher in the process, empty", rate, three.rate, local)
    if temporal:
        yield from cluster_temporal.throughput(server, runs, found)


def waiting(server: PostgresServer, runs: int, temporal: int) -> Iterator[Row]:
    for workers in WORKERS:
        found = waited(server, runs, workers)
        yield from wait_rows(f"from submit to start, {workers} idle", found)
    if temporal:
        yield from cluster_temporal.waiting(server, runs, WORKERS)


def fairness(server: PostgresServer, flood: int) -> Iterator[Row]:
    beside, alone = (percentile(beside_a_flood(server, n), 99) for n in (flood, 0))
    what = f"p99 of {FEW} runs' wait beside {flood} of another tenant / alone"
    yield Row(what, "ms wall", beside * 1000, alone * 1000)


def rows(
    runs: int = 300,
    flood: int = 500,
    appends: int = 500,
    temporal: int = 1,
    only: str = "appends,throughput,waits,fairness,costs",
) -> Iterator[Row]:
    parts: dict[str, Callable[[PostgresServer], Iterator[Row]]] = {
        "appends": lambda server: cluster_appends.rows(server, appends),
        "throughput": lambda server: throughput(server, runs, temporal),
        "waits": lambda server: waiting(server, min(runs, 100), temporal),
        "fairness": lambda server: fairness(server, flood),
        "costs": lambda server: costs(server, runs),
    }
    with durable_server() as server:
        for part in only.split(","):
            yield from parts[part](server)


if __name__ == "__main__":
    main(rows)
