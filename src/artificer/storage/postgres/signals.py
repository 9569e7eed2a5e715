"""The signals to runs, in PostgreSQL: any process on any machine can post one."""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

from psycopg import Connection

from artificer.storage.agreement import check_posted, posted_signals
from artificer.storage.chain import check_name
from artificer.storage.notes import signals_of
from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.writer import PostgresWriter


class PostgresSignals:
    """The `Signals` of a world in PostgreSQL, numbered from 1 in each run."""

    def __init__(self, writer: PostgresWriter, server: Server, now: Callable[[], int]) -> None:
        self._now = now
        self._writer = writer
        self._server = server

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal, durably, and return its number.

        Raises:
            OperatorError: the run has had MAX_SIGNALS, or the database could not be written.
        """
        check_name(run)
        return await self._writer.perform(
            lambda work: work.post(run, body, self._now()), notes=True
        )

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order.

        Raises:
            TamperedError: one of them is not what was posted.
        """
        return await self._server.ask(lambda db: _read(db, run, after))

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the position now, and the runs that got signals since an earlier one."""
        return await self._server.ask(lambda db: _since(db, position))


# The signals, and the notes about them with the newest first: both of one moment.
_READ: LiteralString = """
SELECT n, NULL, body, n AS place FROM signals WHERE run = %s AND n > %s
UNION ALL SELECT NULL, hash, body, -entry FROM notes WHERE subject = %s
ORDER BY place
"""


def _read(db: Connection, run: str, after: int) -> list[tuple[int, bytes]]:
    rows = db.execute(_READ, (run, after, signals_of(run))).fetchall()
    found = [(n, body) for n, _, body, _ in rows if n is not None]
    notes = [(hash_, body) for n, hash_, body, _ in rows if n is None]
    check_posted(run, found, posted_signals(notes, after), lambda: _is_pruned(db, run))
    return found


def _is_pruned(db: Connection, run: str) -> bool:
    query = "SELECT 1 FROM records WHERE run = %s AND seq = 1 AND body = ''"
    return db.execute(query, (run,)).fetchone() is not None


def _since(db: Connection, position: int | None) -> tuple[int, frozenset[str]]:
    if position is None:
        (now,) = db.execute("SELECT coalesce(max(position), 0) FROM signals").fetchone() or (0,)
        return now, frozenset()
    rows = db.execute(
        "SELECT position, run FROM signals WHERE position > %s", (position,)
    ).fetchall()
    return max((row[0] for row in rows), default=position), frozenset(row[1] for row in rows)
