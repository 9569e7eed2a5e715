"""Reading a world in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg import Connection

from artificer.errors import TamperedError
from artificer.ports import CheckedRecord, Head, Placed, Record, RunHead
from artificer.storage.chain import emptied, fenced
from artificer.storage.notes import Note, RunImported, read_note, signals_of
from artificer.values.canon import digest_of


@contextmanager
def snapshot(db: Connection) -> Iterator[None]:
    """Read everything from one consistent snapshot, while others continue writing."""
    db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    try:
        yield
    finally:
        if not db.broken:
            db.execute("ROLLBACK")


def read_records(db: Connection, run: str, after: int, limit: int | None = None) -> list[Record]:
    """Return the first ``limit`` records with ``seq > after``, each checked against its hash.

    Raises:
        TamperedError: a record is missing, or its body is not what was written.
    """
    rows = db.execute(
        "SELECT seq, hash, body FROM records WHERE run = %s AND seq > %s ORDER BY seq LIMIT %s",
        (run, after, limit),
        binary=True,
    ).fetchall()
    records: list[Record] = []
    for expected, (seq, hash_, body) in enumerate(rows, start=max(0, after) + 1):
        if seq != expected:
            raise _tampered(f"Record {expected} of run {run} is missing")
        if body == b"":
            raise emptied(run, seq, _last_record(db, run))
        records.append(CheckedRecord(run, seq, hash_, body))
    return records


def _last_record(db: Connection, run: str) -> Record:
    query = "SELECT seq, hash, body FROM records WHERE run = %s ORDER BY seq DESC LIMIT 1"
    row = db.execute(query, (run,), binary=True).fetchone()
    assert row is not None
    return Record(run, *row)


def read_placed(db: Connection, after: int, upto: int) -> list[Placed]:
    """Return the records between two positions, each checked against its hash.

    Raises:
        TamperedError: the body of one is not what was written.
    """
    rows = db.execute(
        "SELECT position, world, run, seq, hash, body FROM chain JOIN records USING (xid, entry) "
        "WHERE position > %s AND position <= %s ORDER BY position",
        (after, upto),
        binary=True,
    ).fetchall()
    for _, _, run, seq, hash_, body in rows:
        if body != b"" and hash_ != digest_of(body):
            raise _tampered(f"Record {seq} of run {run} has a body that does not match its hash")
    return [Placed(position, world, Record(*record)) for position, world, *record in rows]


def read_runs(db: Connection, before: str | None = None, limit: int | None = None) -> list[RunHead]:
    """Return runs, oldest first; of those older than ``before``, the newest ``limit``."""
    rows = db.execute(
        "SELECT run, epoch, seq, hash FROM runs WHERE %(before)s::text IS NULL OR "
        "number < (SELECT number FROM runs WHERE run = %(before)s) "
        "ORDER BY number DESC LIMIT %(limit)s",
        {"before": before, "limit": limit},
    ).fetchall()
    return [
        RunHead(run, epoch, Head(seq=seq, hash=hash_)) for run, epoch, seq, hash_ in reversed(rows)
    ]


def check_epoch(db: Connection, run: str, epoch: int) -> None:
    """Check that an epoch is a run's last one. Raises Fenced."""
    row = db.execute("SELECT epoch, seq, hash FROM runs WHERE run = %s", (run,)).fetchone()
    found = row and RunHead(run, row[0], Head(seq=row[1], hash=row[2]))
    if not found or found.epoch != epoch:
        raise fenced(run, epoch, Head(), found or None)


def unsigned(db: Connection, run: str) -> int:
    """The last record of a run that may name signals which are not here; 0 for none.

    Only those that were imported do.
    """
    last = 0
    with snapshot(db):
        query = "SELECT hash, body FROM notes WHERE subject = %s"
        for row in db.execute(query, (signals_of(run),)).fetchall():
            note = read_note(*row)
            if isinstance(note, RunImported):
                query = "SELECT 1 FROM records WHERE run = %s AND seq = %s AND hash = %s"
                found = db.execute(query, (run, note.seq, note.hash)).fetchone()
                last = max(last, note.seq if found else 0)
    return last


def last_note(db: Connection, subject: str) -> Note | None:
    """Return the newest note about a subject. Raises TamperedError."""
    return ask_last_note(db, subject)()


def ask_last_note(db: Connection, subject: str) -> Callable[[], Note | None]:
    """Ask for the newest note about a subject; calling the result raises TamperedError."""
    found = db.execute(
        "SELECT hash, body FROM notes WHERE subject = %s ORDER BY entry DESC LIMIT 1", (subject,)
    )

    def note() -> Note | None:
        row = found.fetchone()
        return None if row is None else read_note(*row)

    return note


def _tampered(what: str) -> TamperedError:
    return TamperedError(f"{what}.", hint="Run `artificer verify` to see what else is affected.")
