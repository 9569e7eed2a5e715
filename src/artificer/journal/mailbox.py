"""Mailboxes: letters for whoever drives a run, numbered from 1 in each run."""

from __future__ import annotations

import sqlite3

from artificer.journal.chain import check_name, mailbox_full
from artificer.journal.reader import Reader
from artificer.journal.writer import Writer
from artificer.ports import MAX_LETTERS


class MemoryMailbox:
    """The mailbox of a world that lives as long as its process."""

    def __init__(self) -> None:
        self._letters: dict[str, list[bytes]] = {}
        self._posted: list[str] = []

    async def post(self, run: str, body: bytes) -> int:
        """Leave a letter and return its number. Raises OperatorError when the mailbox is full."""
        check_name(run)
        letters = self._letters.setdefault(run, [])
        if len(letters) >= MAX_LETTERS:
            raise mailbox_full(run)
        letters.append(body)
        self._posted.append(run)
        return len(letters)

    async def letters(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """The run's letters with a number greater than ``after``, in order."""
        return list(enumerate(self._letters.get(run, []), 1))[after:]

    async def news(self, position: int | None) -> tuple[int, frozenset[str]]:
        """The position now, and the runs that got letters since an earlier one."""
        now = len(self._posted)
        return now, frozenset(self._posted[now if position is None else position :])

    def empty(self, run: str) -> None:
        """Remove what a run's letters say; their numbers stay."""
        self._letters[run] = [b""] * len(self._letters.get(run, []))


class SqliteMailbox:
    """The mailbox in a journal's file: any process of the machine can post."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def post(self, run: str, body: bytes) -> int:
        """Leave a letter, durably, and return its number.

        Raises:
            OperatorError: the mailbox is full, or the file could not be written.
        """
        check_name(run)
        return await self._writer.perform(lambda work: work.post(run, body))

    async def letters(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """The run's letters with a number greater than ``after``, in order."""
        return await self._reader.ask(
            lambda db: db.execute(
                "SELECT n, body FROM letters WHERE run = ? AND n > ? ORDER BY n", (run, after)
            ).fetchall()
        )

    async def news(self, position: int | None) -> tuple[int, frozenset[str]]:
        """The position now, and the runs that got letters since an earlier one."""
        return await self._reader.ask(lambda db: _news(db, position))


def _news(db: sqlite3.Connection, position: int | None) -> tuple[int, frozenset[str]]:
    if position is None:
        (now,) = db.execute("SELECT coalesce(max(position), 0) FROM letters").fetchone()
        return now, frozenset()
    rows = db.execute(
        "SELECT position, run FROM letters WHERE position > ?", (position,)
    ).fetchall()
    return max((row[0] for row in rows), default=position), frozenset(row[1] for row in rows)
