"""What the journal costs over the bare SQLite commit beneath it, and what group commit gives.

    python bench/journal.py

All figures are of one run on one machine, next to a bare loop over the same statements on the
same disk; nothing is asserted.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from artificer.ports import Durability, Head, Journal, Record
from artificer.storage import MemoryJournal, SqliteJournal
from artificer.testing.journal_suite import records_after

APPENDS = 1500
RUNS = 50
PAYLOAD = {"type": "ToolReturned", "content": "x" * 420}


def chain(run: str, appends: int) -> list[list[Record]]:
    """Return the records of a run, two of about 600 bytes for each append."""
    head, result = Head(), []
    for _ in range(appends):
        records = records_after(head, run, PAYLOAD, PAYLOAD)
        head = Head(seq=records[-1].seq, hash=records[-1].hash)
        result.append(records)
    return result


def bare(path: Path, durability: Durability, appends: list[list[Record]]) -> list[float]:
    """Commit the same bytes with nothing but sqlite3: no fence, no chain, no thread."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
    db.execute("CREATE TABLE records (run, seq, hash, body, UNIQUE (run, seq))")
    seconds = []
    for records in appends:
        start = time.perf_counter()
        db.execute("BEGIN IMMEDIATE")
        for record in records:
            db.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?)",
                (record.run, record.seq, record.hash, record.body),
            )
        db.execute("COMMIT")
        seconds.append(time.perf_counter() - start)
    db.close()
    return seconds


async def drive(journal: Journal, run: str, appends: list[list[Record]]) -> list[float]:
    """Append one after the other, as a run does."""
    lease = await journal.acquire(run)
    head, seconds = lease.head, []
    for records in appends:
        start = time.perf_counter()
        head = await journal.append(run, lease.epoch, head, records)
        seconds.append(time.perf_counter() - start)
    return seconds


async def drive_many(journal: Journal, each: int) -> float:
    """Let RUNS runs append at once and return appends per second."""
    chains = {f"run-{n}": chain(f"run-{n}", each) for n in range(RUNS)}
    start = time.perf_counter()
    await asyncio.gather(*(drive(journal, run, appends) for run, appends in chains.items()))
    return RUNS * each / (time.perf_counter() - start)


def show(name: str, seconds: list[float], base: float | None = None) -> float:
    """Print the percentiles, and what they are over the bare loop's median."""
    p50 = statistics.median(seconds)
    p99 = statistics.quantiles(seconds, n=100)[98]
    over = f"  +{(p50 - base) * 1e6:4.0f} µs, ×{p50 / base:.2f}" if base else ""
    print(f"  {name:28} p50 {p50 * 1e6:6.0f} µs   p99 {p99 * 1e6:6.0f} µs{over}")
    return p50


async def main() -> None:
    """Run all."""
    appends = chain("run", APPENDS)
    body = appends[-1][-1].body
    print(f"{APPENDS} appends of 2 records of {len(body)} bytes, {hashlib.sha256().name}")
    show("in memory", await drive(MemoryJournal(), "run", appends))
    levels: tuple[Durability, ...] = ("process", "power")
    for durability in levels:
        print(f"durability {durability}")
        with tempfile.TemporaryDirectory() as name:
            base = show("bare sqlite3", bare(Path(name) / "bare.db", durability, appends))
            async with SqliteJournal(Path(name) / "journal.db", durability) as journal:
                show("journal", await drive(journal, "run", appends), base)
            async with SqliteJournal(Path(name) / "many.db", durability) as journal:
                rate = await drive_many(journal, 40)
            print(
                f"  {RUNS} runs at once: {rate:.0f} appends/s, "
                f"×{rate * base:.1f} of the bare loop's {1 / base:.0f}"
            )


asyncio.run(main())
