"""Mailboxes: letters for whoever drives a run, numbered from 1 in each run."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from artificer.errors import TamperedError
from artificer.ports import MAX_LETTERS
from artificer.storage.chain import check_name, mailbox_full
from artificer.storage.notes import SignalPosted, read_note, signals_of
from artificer.storage.reader import Reader, snapshot
from artificer.storage.writer import Writer
from artificer.values.canon import digest_of


class MemoryMailbox:
    """The mailbox of a world that lives as long as its process. ``noted`` hears of each signal."""

    def __init__(self, noted: Callable[[SignalPosted], object] = lambda _: None) -> None:
        self._letters: dict[str, list[bytes]] = {}
        self._first: dict[str, int] = {}
        self._posted: list[str] = []
        self._noted = noted

    async def post(self, run: str, body: bytes) -> int:
        """Leave a letter and return its number. Raises OperatorError when the mailbox is full."""
        check_name(run)
        letters = self._letters.setdefault(run, [])
        n = self._first.get(run, 1) + len(letters)
        if n > MAX_LETTERS:
            raise mailbox_full(run)
        self._noted(SignalPosted(run=run, n=n, body=digest_of(body), at=_now()))
        letters.append(body)
        self._posted.append(run)
        return n

    async def letters(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """The run's letters with a number greater than ``after``, in order."""
        return [(n, body) for n, body in self._numbered(run) if n > after]

    async def news(self, position: int | None) -> tuple[int, frozenset[str]]:
        """The position now, and the runs that got letters since an earlier one."""
        now = len(self._posted)
        return now, frozenset(self._posted[now if position is None else position :])

    def empty(self, run: str) -> None:
        """Remove what a run's letters say; their numbers stay."""
        self._letters[run] = [b""] * len(self._letters.get(run, []))

    def follow(self, run: str, taken: int) -> None:
        """Count on from the signals that an imported run took elsewhere."""
        self._first[run] = taken + 1

    def rows(self) -> list[tuple[int, str, int, bytes]]:
        """Every signal: its position, its run, its number and what it says."""
        waiting = {run: iter(self._numbered(run)) for run in self._letters}
        return [(at, run, *next(waiting[run])) for at, run in enumerate(self._posted, 1)]

    def _numbered(self, run: str) -> list[tuple[int, bytes]]:
        return list(enumerate(self._letters.get(run, []), self._first.get(run, 1)))


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
        return await self._writer.perform(lambda work: work.post(run, body, _now()))

    async def letters(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """The run's letters with a number greater than ``after``, in order.

        Raises:
            TamperedError: one of them is not what was posted.
        """
        return await self._reader.ask(lambda db: _letters(db, run, after))

    async def news(self, position: int | None) -> tuple[int, frozenset[str]]:
        """The position now, and the runs that got letters since an earlier one."""
        return await self._reader.ask(lambda db: _news(db, position))


def _now() -> int:
    return time.time_ns() // 1_000_000


def _letters(db: sqlite3.Connection, run: str, after: int) -> list[tuple[int, bytes]]:
    with snapshot(db):
        found = db.execute(
            "SELECT n, body FROM letters WHERE run = ? AND n > ? ORDER BY n", (run, after)
        ).fetchall()
        posted = _posted(db, run, after)
        for n in sorted({n for n, _ in found} ^ posted.keys()):
            raise _tampered(run, n)
        for n, body in found:
            if digest_of(body) != posted[n] and not (body == b"" and _is_pruned(db, run)):
                raise _tampered(run, n)
    return found


def _posted(db: sqlite3.Connection, run: str, after: int) -> dict[int, str]:
    """The digests of the signals with a number greater than ``after``, as the notes say."""
    notes = db.execute(
        "SELECT hash, body FROM notes WHERE subject = ? ORDER BY position DESC", (signals_of(run),)
    )
    posted: dict[int, str] = {}
    for row in notes:
        note = read_note(*row)
        if not isinstance(note, SignalPosted) or note.n <= after:
            break
        posted[note.n] = note.body
    return posted


def _is_pruned(db: sqlite3.Connection, run: str) -> bool:
    query = "SELECT 1 FROM records WHERE run = ? AND seq = 1 AND body = x''"
    return db.execute(query, (run,)).fetchone() is not None


def _tampered(run: str, n: int) -> TamperedError:
    return TamperedError(
        f"Signal {n} to run {run} is not what was posted; it was not acted on.",
        hint="Run `artificer verify` to see what else was changed.",
    )


def _news(db: sqlite3.Connection, position: int | None) -> tuple[int, frozenset[str]]:
    if position is None:
        (now,) = db.execute("SELECT coalesce(max(position), 0) FROM letters").fetchone()
        return now, frozenset()
    rows = db.execute(
        "SELECT position, run FROM letters WHERE position > ?", (position,)
    ).fetchall()
    return max((row[0] for row in rows), default=position), frozenset(row[1] for row in rows)
