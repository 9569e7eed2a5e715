"""The signals to runs, in a journal's file: any process of the machine can post one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from artificer.storage.agreement import check_posted, posted_signals
from artificer.storage.chain import check_name
from artificer.storage.notes import signals_of
from artificer.storage.sqlite.reader import Reader, snapshot
from artificer.storage.sqlite.writer import Writer


class SqliteSignals:
    """The `Signals` in a journal's file, numbered from 1 in each run."""

    def __init__(self, writer: Writer, reader: Reader, now: Callable[[], int]) -> None:
        self._writer = writer
        self._reader = reader
        self._now = now

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal, durably, and return its number.

        Raises:
            OperatorError: the run has had MAX_SIGNALS, or the file could not be written.
        """
        check_name(run)
        return await self._writer.perform(lambda work: work.post(run, body, self._now()))

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order.

        Raises:
            TamperedError: one of them is not what was posted.
        """
        return await self._reader.ask(lambda db: _read(db, run, after))

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the position now, and the runs that got signals since an earlier one."""
        return await self._reader.ask(lambda db: _since(db, position))


def _read(db: sqlite3.Connection, run: str, after: int) -> list[tuple[int, bytes]]:
    with snapshot(db):
        found = db.execute(
            "SELECT n, body FROM letters WHERE run = ? AND n > ? ORDER BY n", (run, after)
        ).fetchall()
        check_posted(run, found, _posted(db, run, after), lambda: _is_pruned(db, run))
    return found


def _posted(db: sqlite3.Connection, run: str, after: int) -> dict[int, str]:
    """The digests of the signals with a number greater than ``after``, as the notes say."""
    notes = db.execute(
        "SELECT hash, body FROM notes WHERE subject = ? ORDER BY position DESC", (signals_of(run),)
    )
    return posted_signals(notes, after)


def _is_pruned(db: sqlite3.Connection, run: str) -> bool:
    query = "SELECT 1 FROM records WHERE run = ? AND seq = 1 AND body = x''"
    return db.execute(query, (run,)).fetchone() is not None


def _since(db: sqlite3.Connection, position: int | None) -> tuple[int, frozenset[str]]:
    if position is None:
        (now,) = db.execute("SELECT coalesce(max(position), 0) FROM letters").fetchone()
        return now, frozenset()
    rows = db.execute(
        "SELECT position, run FROM letters WHERE position > ?", (position,)
    ).fetchall()
    return max((row[0] for row in rows), default=position), frozenset(row[1] for row in rows)
