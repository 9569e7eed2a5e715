"""The permits of shared limits in a folder, in a separate SQLite file that may be lost.

They end by the clock of the machine, which all its processes share. The room of a process that is
known to be dead comes free before its lease ends.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from artificer.ownership.job_leases import PREFIX
from artificer.ownership.process import ProcessOwner, owner_of
from artificer.ports import LimitReached, Permit, SharedLimit
from artificer.storage.sqlite.cache import CacheFile

T = TypeVar("T")

_TABLES = (
    "CREATE TABLE IF NOT EXISTS permits (name TEXT NOT NULL, permit TEXT NOT NULL, "
    "owner TEXT NOT NULL, since REAL NOT NULL, until REAL NOT NULL, held INTEGER NOT NULL, "
    "PRIMARY KEY (name, permit)) STRICT, WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS permits_until ON permits (until)",
)
_KEEP = (
    "INSERT INTO permits VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name, permit) "
    "DO UPDATE SET owner = excluded.owner, since = excluded.since, until = excluded.until"
)


class SqlitePermits:
    """`Permits` of the processes of one machine, in a file of the project's ``folder``.

    The file is made when the first permit is taken, and may be deleted at any time. A process that
    holds permits is the same owner as of its runs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner: ProcessOwner | None = None
        self._cache = CacheFile(folder / "permits.db", _prepare)

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._cache.close()
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        """Take a permit under all of these limits, or under none of them."""
        if not limits:
            return None
        owner = self._owned()
        holder = _holder(permit, owner.id)  # its lock is taken now, and not in a thread
        return await self._change(lambda db: _take(db, owner, permit, holder, limits, lease_s))

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        """Extend permits; one that was lost counts again."""
        owner, now = self._owned().id, time.monotonic()
        rows = [
            (name, permit.id, _holder(permit.id, owner), now, now + lease_s, True)
            for permit in permits
            for name in permit.limits
        ]
        await self._change(lambda db: db.executemany(_KEEP, rows))

    async def give_back(self, permits: Sequence[Permit]) -> None:
        """End permits."""
        rows = [(name, permit.id) for permit in permits for name in permit.limits]
        statement = "DELETE FROM permits WHERE name = ? AND permit = ? AND held"
        await self._change(lambda db: db.executemany(statement, rows))

    async def held(self) -> Mapping[str, int]:
        """Return how many permits count under each name."""
        query = "SELECT name, count(*) FROM permits WHERE until > ? GROUP BY name ORDER BY name"
        return dict(
            await self._change(lambda db: db.execute(query, (time.monotonic(),)).fetchall())
        )

    def _owned(self) -> ProcessOwner:
        """This process as an owner. Raises OperatorError."""
        if self._owner is None:
            self._owner = owner_of(self._folder)
        return self._owner

    async def _change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.to_thread(self._changed, work)

    def _changed(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._cache.opened() as db:
            db.execute("BEGIN IMMEDIATE")
            result = work(db)
            db.execute("COMMIT")
            return result


def _prepare(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    _forget_older_boots(db)


def _forget_older_boots(db: sqlite3.Connection) -> None:
    """Forget permits of before the machine was started again: its clock began at zero.

    The time is asked for when nobody else can write, or a permit that another process takes
    meanwhile would be from the future.
    """
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM permits WHERE since > ?", (time.monotonic(),))
    db.execute("COMMIT")


def _take(
    db: sqlite3.Connection,
    owner: ProcessOwner,
    permit: str,
    holder: str,
    limits: Sequence[SharedLimit],
    lease_s: float,
) -> LimitReached | None:
    now = time.monotonic()
    db.execute("DELETE FROM permits WHERE until <= ?", (now,))
    reached = _reached(db, limits, now)
    if reached is not None and _forget_dead(db, owner):
        reached = _reached(db, limits, now)
    if reached is None:
        rows = []
        for limit in limits:
            held, lasts = limit.period_s is None, limit.period_s or lease_s
            rows.append((limit.name, permit, holder, now, now + lasts, held))
        db.executemany(_KEEP, rows)
    return reached


def _reached(
    db: sqlite3.Connection, limits: Sequence[SharedLimit], now: float
) -> LimitReached | None:
    """Return the one of the limits that leaves no room for longest; None if all do."""
    found = []
    for limit in limits:
        (count,) = db.execute(
            "SELECT count(*) FROM permits WHERE name = ?", (limit.name,)
        ).fetchone()
        if count >= limit.count:
            (until,) = db.execute(
                "SELECT until FROM permits WHERE name = ? ORDER BY until LIMIT 1 OFFSET ?",
                (limit.name, count - limit.count),
            ).fetchone()
            found.append(LimitReached(limit.name, until - now if limit.period_s else 0.0))
    return max(found, key=lambda each: each.seconds, default=None)


def _forget_dead(db: sqlite3.Connection, owner: ProcessOwner) -> bool:
    """Forget what dead processes held; return whether there was anything."""
    query = "SELECT DISTINCT owner FROM permits WHERE held AND owner <> ''"
    owners = db.execute(query).fetchall()
    dead = [(each,) for (each,) in owners if owner.died(each)]
    return db.executemany("DELETE FROM permits WHERE held AND owner = ?", dead).rowcount > 0


def _holder(permit: str, owner: str) -> str:
    """Return the holder of a permit: no process for that of a worker over HTTP, which continues
    when the studio dies that has taken it.
    """
    return "" if permit.startswith(PREFIX) else owner
