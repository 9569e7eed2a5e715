"""The rows of small runs, written by nothing but PostgreSQL's driver, over 8 connections.

They are those of a run that was executed, in as many transactions; nothing is verified or fenced.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cluster_kit import (
    SLOTS,
    PostgresServer,
    connected,
    new_world,
    opened,
    submit_all,
    submitted,
)
from small_agent import agent


class Sample(NamedTuple):
    """The rows of a small run: its transactions, and the blobs that only it has."""

    transactions: list[tuple[list[Any], list[Any]]]
    blobs: list[bytes]


async def sample(url: str) -> Sample:
    """Execute two runs here, one after the other, and return the rows of the second."""
    with TemporaryDirectory() as folder, connected(url) as db:
        async with opened(url, Path(folder)) as world:
            for n in range(2):
                known = {d for (d,) in db.execute("SELECT digest FROM blobs")} if n else set()
                run = await submitted(world, f"Add 1 and 2, number {n}.")
                await world.resume(run, agent)
        query = (
            "SELECT xid::text, seq, hash, body, entry FROM records WHERE run = %s UNION ALL "
            "SELECT xid::text, 0, hash, body, entry FROM notes WHERE entry > "
            "(SELECT min(entry) FROM records WHERE run = %s) ORDER BY entry"
        )
        found = db.execute(query, (run, run)).fetchall()
        transactions = []
        for _, rows in groupby(found, lambda row: row[0]):
            lines = [row[1:4] for row in rows]
            notes = [line for line in lines if not line[0]]
            transactions.append(([line for line in lines if line[0]], notes))
        blobs = db.execute("SELECT digest, data FROM blobs").fetchall()
    return Sample(transactions, [data for digest, data in blobs if digest not in known])


def written_bare(server: PostgresServer, made: Sample, runs: int) -> float:
    """Write the rows of so many runs over 8 connections; return how many in a second."""
    url = new_world(server)
    asyncio.run(submit_all(url, []))
    shares = [range(start, runs, SLOTS) for start in range(SLOTS)]
    with ThreadPoolExecutor(SLOTS) as threads:
        start = time.perf_counter()
        list(threads.map(partial(_write_share, url, made), shares))
        return runs / (time.perf_counter() - start)


def _write_share(url: str, made: Sample, numbers: range) -> None:
    with connected(url) as db:
        for n in numbers:
            _write(db, made, f"run-{n}", n)


def _write(db: Any, made: Sample, run: str, number: int) -> None:
    db.execute("INSERT INTO runs VALUES (%s, %s, 1, 0, '', '', '')", (number, run))
    blobs = made.blobs
    for records, notes in made.transactions:
        with db.transaction():
            if records:
                seq, hash_, _ = records[-1]
                db.execute("UPDATE runs SET seq = %s, hash = %s WHERE run = %s", (seq, hash_, run))
                db.cursor().executemany(
                    "INSERT INTO records (run, seq, hash, body) VALUES (%s, %s, %s, %s)",
                    [(run, *record) for record in records],
                )
            for _, hash_, body in notes:
                db.execute(
                    "INSERT INTO notes (subject, hash, body) VALUES (%s, %s, %s)",
                    (f"spent {run}", hash_, body),
                )
            for n, blob in enumerate(blobs):
                db.execute("INSERT INTO blobs (digest, data) VALUES (%s, %s)", (f"{run} {n}", blob))
            blobs = []
