"""Reading a journal's file, on a connection and a thread apart from the writer's."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from artificer.errors import TamperedError
from artificer.ports import CheckedRecord, Head, Placed, Record, RunHead
from artificer.storage.audit import Tip
from artificer.storage.chain import emptied
from artificer.storage.closed import closed
from artificer.storage.notes import ChainingBegan, Note, RunImported, read_note, signals_of
from artificer.storage.sqlite.database import FAULTS, designed
from artificer.values.canon import digest_of

T = TypeVar("T")


class Source(Protocol):
    """A source of answers to queries."""

    def ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return the query's result."""

    def close(self) -> None:
        """Close what is open."""


class Connected:
    """One connection that stays open, used by one thread at a time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return the query's result."""
        return query(self._db)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


class Reader:
    """Runs queries one at a time, so that a long one never holds up the event loop."""

    def __init__(self, source: Source, path: Path) -> None:
        self._source = source
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"read {path.name}")
        self._closed = False

    async def ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return the query's result. What it reads is one snapshot only if it begins one.

        Raises:
            AuthorError: the journal is closed.
            OperatorError: the file cannot be read; TamperedError if it is damaged.
        """
        if self._closed:
            raise closed(f"journal {self._path}")
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, self._source.ask, query
            )
        except FAULTS as error:
            raise designed(error, self._path) from error

    async def aclose(self) -> None:
        """Finish the queries that wait, then close the connection. May be called more than once."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown)
        self._source.close()


def read_records(
    db: sqlite3.Connection, run: str, after: int, limit: int | None = None
) -> list[Record]:
    """Return the first ``limit`` records with ``seq > after``, each checked against its hash.

    Raises:
        TamperedError: a record is missing, or its body is not what was written.
    """
    rows = db.execute(
        "SELECT seq, hash, body FROM records WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?",
        (run, after, -1 if limit is None else limit),
    ).fetchall()
    records: list[Record] = []
    for expected, (seq, hash_, body) in enumerate(rows, start=max(0, after) + 1):
        if seq != expected:
            raise _tampered(f"Record {expected} of run {run} is missing")
        if body == b"":
            raise emptied(run, seq, _last_record(db, run))
        if not isinstance(body, bytes):
            raise _tampered(f"Record {seq} of run {run} has a body that does not match its hash")
        records.append(CheckedRecord(run, seq, hash_, body))
    return records


def _last_record(db: sqlite3.Connection, run: str) -> Record:
    query = "SELECT seq, hash, body FROM records WHERE run = ? ORDER BY seq DESC LIMIT 1"
    return Record(run, *db.execute(query, (run,)).fetchone())


def read_placed(db: sqlite3.Connection, after: int, upto: int) -> list[Placed]:
    """Return the records between two positions, each checked against its hash.

    Raises:
        TamperedError: the body of one is not what was written.
    """
    rows = db.execute(
        "SELECT position, world, run, seq, hash, body FROM records "
        "WHERE position > ? AND position <= ? ORDER BY position",
        (after, upto),
    ).fetchall()
    for _, _, run, seq, hash_, body in rows:
        if body != b"" and hash_ != digest_of(body):
            raise _tampered(f"Record {seq} of run {run} has a body that does not match its hash")
    return [Placed(position, world, Record(*record)) for position, world, *record in rows]


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read everything from one consistent snapshot, while others continue writing."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def last_note(db: sqlite3.Connection, subject: str) -> Note | None:
    """Return the newest note about a subject. Raises TamperedError."""
    row = db.execute(
        "SELECT hash, body FROM notes WHERE subject = ? ORDER BY position DESC LIMIT 1", (subject,)
    ).fetchone()
    return None if row is None else read_note(*row)


def _tampered(what: str) -> TamperedError:
    return TamperedError(f"{what}.", hint="Run `artificer verify` to see what else is affected.")


def read_runs(
    db: sqlite3.Connection, before: str | None = None, limit: int | None = None
) -> list[RunHead]:
    """Return runs, oldest first; of those older than ``before``, the newest ``limit``."""
    rows = db.execute(
        "SELECT run, epoch, seq, hash FROM runs "
        "WHERE number < coalesce((SELECT number FROM runs WHERE run = ?), ?) "
        "ORDER BY number DESC LIMIT ?",
        (before, 2**62 if before is None else 0, -1 if limit is None else limit),
    ).fetchall()
    return [RunHead(run, epoch, Head(seq=seq, hash=hash_)) for run, epoch, seq, hash_ in rows[::-1]]


def unsigned(db: sqlite3.Connection, run: str) -> int:
    """The last record of a run that may name signals which are not here; 0 for none.

    Records from before notes were written, and those that were imported.
    """
    with snapshot(db):
        first = db.execute(f"{_NOTES} ORDER BY position LIMIT 1").fetchone()
        last = 0
        if first and isinstance(read_note(*first[1:]), ChainingBegan):
            query = "SELECT coalesce(max(seq), 0) FROM records WHERE run = ? AND position < ?"
            (last,) = db.execute(query, (run, first[0])).fetchone()
        for _, *row in db.execute(f"{_NOTES} WHERE subject = ?", (signals_of(run),)):
            note = read_note(*row)
            if isinstance(note, RunImported):
                query = "SELECT 1 FROM records WHERE run = ? AND seq = ? AND hash = ?"
                found = db.execute(query, (run, note.seq, note.hash)).fetchone()
                last = max(last, note.seq if found else 0)
    return int(last)


_NOTES = "SELECT position, hash, body FROM notes"


def read_tip(db: sqlite3.Connection) -> Tip:
    """Where the world's chain ends. Raises TamperedError."""
    row = db.execute("SELECT position, world FROM tip").fetchone()
    if row is None:
        raise TamperedError("The journal does not say where its world chain ends.")
    return Tip(*row)


def read_position(db: sqlite3.Connection) -> int:
    """Return how many records and notes the world has. Raises TamperedError."""
    return read_tip(db).position
