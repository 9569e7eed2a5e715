"""An append to the journal over the bare SQLite commit beneath it, and what group commit gives.

    python bench/journal.py [--rounds 5] [--appends 500] [--runs 50]

An append has two records of about 600 bytes. The floor commits the same bytes with nothing but
sqlite3 on the same disk: no fence, no chain.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import get_args

from artificer.ports import Durability, Head, Journal, Record
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after
from measure import Contestant, Row, Spent, by_turns, main, row, spent_by, timed

PAYLOAD = {"type": "ToolReturned", "content": "x" * 420}
Appends = list[list[Record]]


def chain(run: str, appends: int) -> Appends:
    """The records of a run, two for each append."""
    head, result = Head(), []
    for _ in range(appends):
        records = records_after(head, run, PAYLOAD, PAYLOAD)
        head = Head(seq=records[-1].seq, hash=records[-1].hash)
        result.append(records)
    return result


def bare(durability: Durability, appends: Appends) -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
        db.execute("CREATE TABLE records (run, seq, hash, body, UNIQUE (run, seq))")
        spent = timed(lambda: [commit(db, records) for records in appends])()
        db.close()
    return spent.each(len(appends))


def commit(db: sqlite3.Connection, records: list[Record]) -> None:
    db.execute("BEGIN IMMEDIATE")
    for record in records:
        db.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?)",
            (record.run, record.seq, record.hash, record.body),
        )
    db.execute("COMMIT")


async def append(journal: Journal, run: str, appends: Appends) -> None:
    """Append one after the other, as a run does."""
    lease = await journal.acquire(run)
    head = lease.head
    for records in appends:
        head = await journal.append(run, lease.epoch, head, records)


async def in_memory(appends: Appends) -> Spent:
    spent = await spent_by(append(MemoryJournal(), "run-0", appends))
    return spent.each(len(appends))


async def on_disk(durability: Durability, chains: list[Appends]) -> Spent:
    """Runs that append at the same time; the figure is of one append."""
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteJournal(Path(folder) / "journal.db", durability) as journal:
            runs = (append(journal, f"run-{n}", appends) for n, appends in enumerate(chains))
            spent = await spent_by(asyncio.gather(*runs))
    return spent.each(sum(map(len, chains)))


def rows(rounds: int = 5, appends: int = 500, runs: int = 50) -> Iterator[Row]:
    alone = chain("run-0", appends)
    many = [chain(f"run-{n}", max(1, appends // runs)) for n in range(runs)]
    contestants: dict[str, Contestant] = {"memory": lambda: asyncio.run(in_memory(alone))}
    levels: tuple[Durability, ...] = get_args(Durability)
    for level in levels:
        contestants[f"bare, {level}"] = partial(bare, level, alone)
        contestants[level] = lambda level=level: asyncio.run(on_disk(level, [alone]))
        contestants[f"many, {level}"] = lambda level=level: asyncio.run(on_disk(level, many))
    figures = by_turns(contestants, rounds)
    yield row("an append in memory", figures, "memory", unit="µs")
    for level in levels:
        floor = f"bare, {level}"
        yield row(f"an append at `{level}` / a bare commit", figures, level, floor, unit="µs")
        what = f"an append at `{level}` of {runs} runs at once / a bare commit"
        yield row(what, figures, f"many, {level}", floor, unit="µs")


if __name__ == "__main__":
    main(rows)
