"""A transaction, and what may be written in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, LiteralString

import psycopg
from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.ports import Claim, Head, Lease, RunHead
from artificer.storage.chain import (
    check_seal,
    claimed,
    fenced,
    next_signal,
    released,
    run_seal,
)
from artificer.storage.notes import (
    Note,
    SignalPosted,
    VersionAdded,
    signals_after,
    signals_of,
    version_after,
    versions_of,
)
from artificer.storage.postgres.append_statement import Append, append_statement
from artificer.storage.postgres.chaining import extend, waiting
from artificer.storage.postgres.identity import lost, moved
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.postgres.reader import last_note
from artificer.storage.postgres.traces import (
    APPENDED,
    ERASED,
    NOTED,
    OWNED,
    Trace,
    are_there,
)
from artificer.values.canon import digest_of


class PostgresTransaction:
    """The writes that a unit of work may make. ``has_arrivals``: a new run, or a signal.

    ``traces`` tell afterwards whether they were committed.
    """

    def __init__(self, db: Connection, schema: str) -> None:
        self.db = db
        self.has_arrivals = False
        self.traces: list[Trace] = []
        self._schema = schema
        self._held: set[Lock] = set()

    def acquire(self, run: str, claim: Claim) -> Lease:
        """Give the run a new epoch and owner, and make the run when it is unknown.

        Whatever refuses comes before the first write, so a refused claim has changed nothing.
        Raises TamperedError for a run whose row was changed.
        """
        row = self._locked(run)
        if row is None:
            self._hold(Lock.BIRTHS)
            row = self._locked(run)
        if row is not None and row[-1]:
            raise moved(row[-1])
        number, epoch, head, owners = _read_run(row)
        if row is not None:
            check_seal(number, run, epoch, row[-2])
        owners = claimed(run, claim, head, owners)
        epoch += 1
        if row is None:
            (number,) = _one(self.db.execute("SELECT coalesce(max(number), 0) + 1 FROM runs"))
        self.db.execute(
            "INSERT INTO runs VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (run) DO UPDATE "
            "SET epoch = excluded.epoch, seal = excluded.seal, owner = excluded.owner",
            (number, run, epoch, head.seq, head.hash, run_seal(number, run, epoch), owners),
        )
        self._trace(OWNED, run, epoch, owners, run, epoch)
        return Lease(epoch=epoch, head=head)

    def release(self, run: str, epoch: int) -> None:
        """Release a run if its epoch is still this one."""
        row = self._locked(run)
        _, found, head, owners = _read_run(row)
        if row is not None and found == epoch:
            left = released(owners, head.seq)
            self.db.execute("UPDATE runs SET owner = %s WHERE run = %s", (left, run))
            self._trace(OWNED, run, epoch, left, run, epoch)

    def append(self, append: Append, new_head: Head) -> None:
        """Append records that are known to lead to ``new_head``.

        The UPDATE is the fence (invariant 6): it moves the head only for the writer that holds
        the epoch and knows the head. When it does not, the database raises NOT_WRITTEN, at the
        latest when the transaction ends, and nothing in it is written; so too when its spending
        is refused. All is one statement: in a pipeline nobody waits for its answer.
        """
        if append.costs:
            self.begin_notes()
        query, values = append_statement(append, new_head)
        self.db.execute(query, values)
        self.has_arrivals |= append.head.seq == 0
        if append.records:
            self._trace(APPENDED, append.run, new_head.seq, new_head.hash)

    def has(self, run: str, epoch: int, head: Head) -> bool:
        """Whether the writer with this epoch has appended up to a head, for certain.

        A transaction that is about to do so, or to give the run another epoch, is waited for, and
        the next one waits for this.
        """
        _, found, _, _ = _read_run(self._locked(run))
        if found != epoch:
            return False
        return are_there(self.db, [Trace(APPENDED, (run, head.seq, head.hash))])

    def begin_notes(self) -> None:
        """Block other writers of notes until the transaction ends, before reading them."""
        self._hold(Lock.NOTES)

    def note(self, note: Note) -> None:
        """Write a note. The caller changes the table that it is about."""
        self.begin_notes()
        body = note.canonical()
        self.db.execute(
            "INSERT INTO notes (subject, hash, body) VALUES (%s, %s, %s)",
            (note.subject, digest_of(body), body),
        )
        self._trace(NOTED, note.subject, digest_of(body))

    def last(self, subject: str) -> Note | None:
        """Return the newest note about a subject. Raises TamperedError."""
        return last_note(self.db, subject)

    def post(self, run: str, body: bytes, at: int) -> int:
        """Add a signal to a run's queue and return its number."""
        self.begin_notes()
        n = next_signal(run, signals_after(self.last(signals_of(run))))
        self.note(SignalPosted(run=run, n=n, body=digest_of(body), at=at))
        self.db.execute(
            "INSERT INTO signals SELECT coalesce(max(position), 0) + 1, %s, %s, %s FROM signals",
            (run, n, body),
        )
        self.has_arrivals = True
        return n

    def add_version(self, name: str, number: int, digest: str, run: str) -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        self.begin_notes()
        if number != 1 + version_after(self.last(versions_of(run, name))):
            return False
        self.note(VersionAdded(run=run, workspace=name, number=number, digest=digest))
        self.db.execute("INSERT INTO versions VALUES (%s, %s, %s, %s)", (run, name, number, digest))
        return True

    def erase(self, run: str, epoch: int, upto: int) -> None:
        """Empty the bodies of a run's first records and signals; their hashes stay."""
        _, found, _, _ = _read_run(self._locked(run))
        if found != epoch:
            raise refusal(self.db, run, epoch, Head())
        self.db.execute("UPDATE records SET body = '' WHERE run = %s AND seq <= %s", (run, upto))
        self.db.execute("UPDATE signals SET body = '' WHERE run = %s", (run,))
        self._trace(ERASED, run, upto)

    def forget(self, digests: Iterable[str], at: int) -> bool:
        """Delete blobs if nothing has come since a position; return whether nothing has."""
        self.db.execute("LOCK TABLE records, notes IN SHARE ROW EXCLUSIVE MODE")
        end = extend(self.db)
        if end.tip.position != at or waiting(self.db, end, limit=1):
            return False
        self.db.execute(
            "DELETE FROM blobs WHERE digest = ANY(%s) AND put IS NULL", (list(digests),)
        )
        return True

    def _trace(self, query: LiteralString, *values: str | int) -> None:
        self.traces.append(Trace(query, values))

    def _locked(self, run: str) -> Any:
        return self.db.execute(
            "SELECT number, epoch, seq, hash, owner, seal, "
            "(SELECT value FROM meta WHERE key = 'lost') FROM runs WHERE run = %s FOR UPDATE",
            (run,),
        ).fetchone()

    def _hold(self, lock: Lock) -> None:
        if lock not in self._held:
            hold(self.db, lock, self._schema)
            self._held.add(lock)


def refusal(
    db: Connection, run: str, epoch: int, head: Head, *, is_ours: bool = False
) -> ArtificerError:
    """Return the error for a writer that the fence has rejected; ``is_ours``: it had the epoch."""
    row = db.execute("SELECT epoch, seq, hash FROM runs WHERE run = %s", (run,)).fetchone()
    found = None if row is None else RunHead(run, row[0], Head(seq=row[1], hash=row[2]))
    if is_ours and (text := lost(db, run, epoch, head, found)):
        return moved(text)
    return fenced(run, epoch, head, found)


def _read_run(row: Any) -> tuple[int, int, Head, str]:
    if row is None:
        return 0, 0, Head(), ""
    number, epoch, seq, hash_, owner, *_ = row
    return number, epoch, Head(seq=seq, hash=hash_), owner


def _one(cursor: psycopg.Cursor[Any]) -> Any:
    row = cursor.fetchone()
    assert row is not None
    return row


PostgresWork = Callable[[PostgresTransaction], Any]
