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
    Reservation,
    Settlement,
    Spending,
    SpendingLimit,
    StoragePlace,
)
from artificer.storage.budget import reserved_note, settled_note
from artificer.storage.notes import Note
from artificer.storage.postgres.chaining import catch_up
from artificer.storage.postgres.kind import POSTGRES
from artificer.values.canon import digest_of
from cluster_kit import PostgresServer, connected, new_world, percentile, submit_all
from journal import Appends, chain
from measure import Row

WARM = 20
"""Appends that are not counted: statements are prepared, pages are there."""

ACCOUNT = "bench"
LIMIT = SpendingLimit(tokens=10**12, micros=10**12)
NEED, COST = Amount(4_000, 60_000), Amount(15, 30)
FOREVER = 2**50

Timed = Callable[[int], Awaitable[None]]
"""Makes the append with a number."""


def nothing(number: int) -> Spending:
    """An append that costs nothing."""
    return NO_SPENDING


def reserving(number: int) -> Spending:
    """An intent of a request: its highest cost is reserved."""
    return Spending((), (Reservation(ACCOUNT, number + 1, NEED, LIMIT, 0, FOREVER),))


def settling(number: int) -> Spending:
    """A reply: its cost takes the place of its reservation."""
    return Spending((Settlement(ACCOUNT, number + 1, COST),))


KINDS = {"append": nothing, "intent": reserving, "reply": settling}
"""The kinds of appends, in the order in which they are made: a reply settles what its intent has
reserved."""


class Ours:
    """A run of a world, which appends."""

    def __init__(self, journal: Journal, run: str, made: Appends) -> None:
        self._journal, self._run, self._made = journal, run, made
        self._spending = KINDS[run]
        self._epoch, self._head = 0, Head()

    async def append(self, number: int) -> None:
        """Append once."""
        if not self._epoch:
            self._epoch = (await self._journal.acquire(self._run)).epoch
        spending = self._spending(number)
        self._head = await self._journal.append(
            self._run, self._epoch, self._head, self._made[number], (), spending
        )


class Bare:
    """The same rows, by the driver alone: in the tables of a world of their own."""

    def __init__(
        self, db: psycopg.Connection[Any], run: str, made: Appends, *, pipelined: bool
    ) -> None:
        self._db, self._run, self._made, self._pipelined = db, run, made, pipelined
        self._account = f"{ACCOUNT} at once" if pipelined else ACCOUNT
        self._spending = KINDS[run.removeprefix("bare ").removesuffix(" at once")]
        db.execute(
            "INSERT INTO runs SELECT coalesce(max(number), 0) + 1, %s, 1, 0, '', '', '' FROM runs",
            (run,),
        )

    async def append(self, number: int) -> None:
        """Write the rows of one append, in this thread."""
        db, run, records = self._db, self._run, self._made[number]
        with db.pipeline() if self._pipelined else nullcontext():
            db.execute("BEGIN")
            last = records[-1]
            db.execute(
                "UPDATE runs SET seq = %s, hash = %s WHERE run = %s", (last.seq, last.hash, run)
            )
            db.cursor().executemany(
                "INSERT INTO records (run, seq, hash, body) VALUES (%s, %s, %s, %s)",
                [(run, record.seq, record.hash, record.body) for record in records],
            )
            _spend(db, self._account, self._spending(number), number + 1)
            db.execute("COMMIT")


def _spend(db: psycopg.Connection[Any], account: str, spending: Spending, count: int) -> None:
    """Write the notes and rows of what is reserved or settled; the total is known here."""
    for one in spending.settlements:
        spent = Amount(COST.tokens * count, COST.micros * count)
        _note(db, settled_note(one, spent))
        db.execute("DELETE FROM spending WHERE account = %s AND n = %s", (account, one.number))
        db.execute(
            "INSERT INTO spending VALUES (%s, 0, %s, %s) ON CONFLICT (account, n) DO UPDATE "
            "SET tokens = excluded.tokens, micros = excluded.micros",
            (account, spent.tokens, spent.micros),
        )
    for wanted in spending.reservations:
        _note(db, reserved_note(wanted, wanted.need))
        db.execute(
            "INSERT INTO spending VALUES (%s, %s, %s, %s, %s)",
            (account, wanted.number, wanted.need.tokens, wanted.need.micros, wanted.until),
        )


def _note(db: psycopg.Connection[Any], note: Note) -> None:
    body = note.canonical()
    db.execute(
        "INSERT INTO notes (subject, hash, body) VALUES (%s, %s, %s)",
        (note.subject, digest_of(body), body),
    )


async def timed(mine: str, theirs: str, appends: int) -> dict[str, list[float]]:
    """The seconds of each append, one of each kind after the other."""
    spent: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder, connected(theirs) as db:
        storage = await POSTGRES.open(StoragePlace(Path(folder), mine))
        assert storage is not None
        kinds: dict[str, Timed] = {}
        for name in KINDS:
            kinds[name] = Ours(storage.journal, name, chain(name, WARM + appends)).append
            for how, pipelined in (("", False), (" at once", True)):
                bare = f"bare {name}{how}"
                made = chain(bare, WARM + appends)
                kinds[bare] = Bare(db, bare, made, pipelined=pipelined).append
        for number in range(WARM + appends):
            for name, append in kinds.items():
                start = time.perf_counter()
                await append(number)
                spent.setdefault(name, []).append(time.perf_counter() - start)
        await storage.aclose()
    return {name: seconds[WARM:] for name, seconds in spent.items()}


def joined(url: str) -> tuple[int, float]:
    """How many records and notes of a world join its chain, and the seconds of one."""
    with connected(url) as db:
        start = time.perf_counter()
        position = catch_up(db).position
        return position, (time.perf_counter() - start) / max(1, position)


NAMES = {
    "append": "an append of two records",
    "intent": "an intent that reserves",
    "reply": "a reply that costs",
}


def rows(server: PostgresServer, appends: int) -> Iterator[Row]:
    """The rows of appends: medians, and the tenth that nothing else on the machine held up."""
    mine, theirs = new_world(server), new_world(server)
    asyncio.run(submit_all(theirs, []))
    spent = asyncio.run(timed(mine, theirs, appends))
    for kind, what in NAMES.items():
        for floor, goal, how in (
            (f"bare {kind}", "≤ 1.2", "a bare transaction with its rows"),
            (f"bare {kind} at once", "", "one that is sent at once"),
        ):
            for which, percent in (("median", 50), ("fastest tenth", 10)):
                figures = (percentile(spent[name], percent) * 1000 for name in (kind, floor))
                yield Row(f"{what} / {how}, {which}", "ms wall", *figures, goal)
    records, seconds = joined(theirs)
    yield Row(f"joining the world's chain, one of {records:,}, later", "ms wall", seconds * 1000)
