"""An append to a world in PostgreSQL, over a bare transaction that writes the same rows.

Both have one connection to the same server, and tables with the same indexes; each waits until its
transaction is on the disk. The bare one has no fence and verifies nothing. Pipelined, it also waits
only once. What joins the world's chain does so later, for many records at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from artificer.ports import (
    NO_SPENDING,
    Amount,
    Head,
    Journal,
    Record,
    Settlement,
    Spending,
    StoragePlace,
)
from artificer.storage.notes import BudgetSettled
from artificer.storage.postgres.chaining import catch_up
from artificer.storage.postgres.kind import POSTGRES
from artificer.values.canon import digest_of
from cluster_kit import PostgresServer, connected, new_world, percentile, submit_all
from journal import Appends, chain
from measure import Row

WARM = 20
"""Appends that are not counted: statements are prepared, pages are there."""

REPLY = Spending((Settlement("bench", 0, Amount(15, 30)),))
"""The cost of a reply of a model."""

Timed = Callable[[int], Awaitable[None]]
"""Makes the append with a number."""


class Ours:
    """A run of a world, which appends."""

    def __init__(self, journal: Journal, run: str, made: Appends, spending: Spending) -> None:
        self._journal, self._run, self._made = journal, run, made
        self._spending = spending
        self._epoch, self._head = 0, Head()

    async def append(self, number: int) -> None:
        """Append once."""
        if not self._epoch:
            self._epoch = (await self._journal.acquire(self._run)).epoch
        self._head = await self._journal.append(
            self._run, self._epoch, self._head, self._made[number], (), self._spending
        )


class Bare:
    """The same rows, by the driver alone."""

    def __init__(
        self, db: psycopg.Connection[Any], run: str, made: Appends, *, paid: bool, pipelined: bool
    ) -> None:
        self._db, self._run, self._made = db, run, made
        self._paid, self._pipelined = paid, pipelined
        db.execute(
            "INSERT INTO runs SELECT coalesce(max(number), 0) + 1, %s, 1, 0, '', '', '' FROM runs",
            (run,),
        )

    async def append(self, number: int) -> None:
        """Write the rows of one append, in this thread."""
        with self._db.pipeline() if self._pipelined else nullcontext():
            _transaction(self._db, self._run, self._made[number], number if self._paid else None)


async def timed(mine: str, theirs: str, appends: int) -> dict[str, list[float]]:
    """The seconds of each append, one of each kind after the other."""
    spent: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder, connected(theirs) as db:
        storage = await POSTGRES.open(StoragePlace(Path(folder), mine))
        assert storage is not None
        kinds: dict[str, Timed] = {}
        for name, spending in (("append", NO_SPENDING), ("reply", REPLY)):
            made = chain(name, WARM + appends)
            kinds[name] = Ours(storage.journal, name, made, spending).append
        for name, paid, pipelined in (
            ("bare", False, False),
            ("bare at once", False, True),
            ("bare reply", True, False),
        ):
            made = chain(name, WARM + appends)
            kinds[name] = Bare(db, name, made, paid=paid, pipelined=pipelined).append
        for number in range(WARM + appends):
            for name, append in kinds.items():
                start = time.perf_counter()
                await append(number)
                spent.setdefault(name, []).append(time.perf_counter() - start)
        await storage.aclose()
    return {name: seconds[WARM:] for name, seconds in spent.items()}


def _transaction(
    db: psycopg.Connection[Any], run: str, records: list[Record], tokens: int | None
) -> None:
    db.execute("BEGIN")
    last = records[-1]
    db.execute("UPDATE runs SET seq = %s, hash = %s WHERE run = %s", (last.seq, last.hash, run))
    db.cursor().executemany(
        "INSERT INTO records (run, seq, hash, body) VALUES (%s, %s, %s, %s)",
        [(run, record.seq, record.hash, record.body) for record in records],
    )
    if tokens is not None:
        note = BudgetSettled(account="bench", reservation="0", tokens=tokens, micros=tokens)
        body = note.canonical()
        db.execute(
            "INSERT INTO notes (subject, hash, body) VALUES (%s, %s, %s)",
            (note.subject, digest_of(body), body),
        )
        db.execute(
            "INSERT INTO spending VALUES (%s, 0, %s, %s) ON CONFLICT (account, n) DO UPDATE "
            "SET tokens = excluded.tokens, micros = excluded.micros",
            ("bench", tokens, tokens),
        )
    db.execute("COMMIT")


def joined(url: str) -> tuple[int, float]:
    """How many records and notes of a world join its chain, and the seconds of one."""
    with connected(url) as db:
        start = time.perf_counter()
        position = catch_up(db).position
        return position, (time.perf_counter() - start) / max(1, position)


def rows(server: PostgresServer, appends: int) -> Iterator[Row]:
    """The rows of appends: medians, and the tenth that nothing else on the machine held up."""
    mine, theirs = new_world(server), new_world(server)
    asyncio.run(submit_all(theirs, []))
    spent = asyncio.run(timed(mine, theirs, appends))
    pairs = (
        ("an append of two records / a bare transaction with its rows", "append", "bare", "≤ 1.2"),
        ("the same / one that is sent at once", "append", "bare at once", ""),
        (
            "an append of a reply that costs / the same",
            "reply",
            "bare reply",
            "",
        ),
    )
    for what, ours, floor, goal in pairs:
        for how, percent in (("median", 50), ("fastest tenth", 10)):
            figures = (percentile(spent[name], percent) * 1000 for name in (ours, floor))
            yield Row(f"{what}, {how}", "ms wall", *figures, goal)
    records, seconds = joined(theirs)
    yield Row(f"joining the world's chain, one of {records:,}, later", "ms wall", seconds * 1000)
