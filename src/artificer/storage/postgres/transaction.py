"""Writing between BEGIN and COMMIT, and the one way to commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, LiteralString

import psycopg
from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.ports import MAX_SIGNALS, Claim, Head, Lease, Record, RunHead
from artificer.storage.chain import claimed, fenced, released, run_seal, too_many_signals
from artificer.storage.notes import (
    Note,
    RunImported,
    SignalPosted,
    VersionAdded,
    signals_of,
    versions_of,
)
from artificer.storage.postgres.arrivals import announce
from artificer.storage.postgres.chaining import extend, waiting
from artificer.storage.postgres.connection import FAULTS, designed, is_lost
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.postgres.reader import last_note
from artificer.values.canon import digest_of

_MOVED: LiteralString = """
WITH moved AS (
  UPDATE runs SET seq = %(new_seq)s, hash = %(new_hash)s
  WHERE run = %(run)s AND epoch = %(epoch)s AND seq = %(seq)s AND hash = %(hash)s RETURNING run
), added AS (
  INSERT INTO records (run, seq, hash, body)
  SELECT moved.run, %(seq)s + new.n, new.hash, new.body
  FROM moved, unnest(%(hashes)s::text[], %(bodies)b::bytea[]) WITH ORDINALITY AS new (hash, body, n)
  ORDER BY new.n
)"""
# A blob that lay there already is a record's own from now on. One that was so before is not
# touched: ON CONFLICT would lock its row, and all runs have blobs in common. It stays there, since
# whoever forgets blobs locks the table of records first, and this statement looks after that.
_KEPT: LiteralString = """, kept AS (
  INSERT INTO blobs (digest, data) SELECT new.digest, new.data
  FROM moved, unnest(%(digests)s::text[], %(blobs)b::bytea[]) AS new (digest, data)
  WHERE NOT EXISTS (SELECT FROM blobs WHERE blobs.digest = new.digest AND blobs.put IS NULL)
  ORDER BY new.digest
  ON CONFLICT (digest) DO UPDATE SET put = NULL WHERE blobs.put IS NOT NULL
)"""
_XID: LiteralString = " SELECT pg_current_xact_id()::text FROM moved"


class PostgresTransaction:
    """The writes that a unit of work may make, between BEGIN and COMMIT.

    ``xid`` is the transaction's number, once a write has told it. ``has_arrivals``: it brings
    a new run or a signal.
    """

    def __init__(self, db: Connection, schema: str) -> None:
        self.db = db
        self.xid: str | None = None
        self.has_arrivals = False
        self._schema = schema
        self._held: set[Lock] = set()

    def acquire(self, run: str, claim: Claim) -> Lease:
        """Give the run a new epoch and owner, and make the run when it is unknown.

        Whatever refuses comes before the first write, so a refused claim has changed nothing.
        """
        row = self._locked(run)
        if row is None:
            self._hold(Lock.BIRTHS)
            row = self._locked(run)
        number, epoch, head, owners = _read_run(row)
        owners = claimed(run, claim, head, owners)
        epoch += 1
        if row is None:
            (number,) = _one(self.db.execute("SELECT coalesce(max(number), 0) + 1 FROM runs"))
        self.db.execute(
            "INSERT INTO runs VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (run) DO UPDATE "
            "SET epoch = excluded.epoch, seal = excluded.seal, owner = excluded.owner",
            (number, run, epoch, head.seq, head.hash, run_seal(number, run, epoch), owners),
        )
        return Lease(epoch=epoch, head=head)

    def release(self, run: str, epoch: int) -> None:
        """Release a run if its epoch is still this one."""
        row = self._locked(run)
        _, found, head, owners = _read_run(row)
        if row is not None and found == epoch:
            self.db.execute(
                "UPDATE runs SET owner = %s WHERE run = %s", (released(owners, head.seq), run)
            )

    def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        new_head: Head,
        blobs: Sequence[bytes],
    ) -> None:
        """Append records that are known to lead from ``head`` to ``new_head``.

        The UPDATE is the fence (invariant 6): it moves the head only for the writer that holds
        the epoch and knows the head, and nothing is written when it does not. All is one
        statement: while the server is asked and answers, others may wait for this transaction.
        """
        values: dict[str, Any] = {
            "run": run,
            "epoch": epoch,
            "seq": head.seq,
            "hash": head.hash,
            "new_seq": new_head.seq,
            "new_hash": new_head.hash,
            "hashes": [record.hash for record in records],
            "bodies": [record.body for record in records],
        }
        query = _MOVED + _XID
        if blobs:
            kept = {digest_of(blob): blob for blob in blobs}
            values |= {"digests": list(kept), "blobs": list(kept.values())}
            query = _MOVED + _KEPT + _XID
        moved = self.db.execute(query, values).fetchone()
        if moved is None:
            raise self._fenced(run, epoch, head)
        (self.xid,) = moved
        self.has_arrivals |= head.seq == 0

    def begin_notes(self) -> None:
        """Let nobody else write notes until the transaction ends: before they are looked at."""
        self._hold(Lock.NOTES)

    def note(self, note: Note) -> None:
        """Write a note. The caller changes the table that it is about."""
        self.begin_notes()
        body = note.canonical()
        self.db.execute(
            "INSERT INTO notes (subject, hash, body) VALUES (%s, %s, %s)",
            (note.subject, digest_of(body), body),
        )

    def last(self, subject: str) -> Note | None:
        """Return the newest note about a subject. Raises TamperedError."""
        return last_note(self.db, subject)

    def post(self, run: str, body: bytes, at: int) -> int:
        """Add a signal to a run's queue and return its number."""
        self.begin_notes()
        before = self.last(signals_of(run))
        n = 1 + (before.n if isinstance(before, SignalPosted | RunImported) else 0)
        if n > MAX_SIGNALS:
            raise too_many_signals(run)
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
        head = self.last(versions_of(run, name))
        if number != 1 + (head.number if isinstance(head, VersionAdded) else 0):
            return False
        self.note(VersionAdded(run=run, workspace=name, number=number, digest=digest))
        self.db.execute("INSERT INTO versions VALUES (%s, %s, %s, %s)", (run, name, number, digest))
        return True

    def erase(self, run: str, epoch: int, upto: int) -> None:
        """Empty the bodies of a run's first records and signals; their hashes stay."""
        _, found, _, _ = _read_run(self._locked(run))
        if found != epoch:
            raise self._fenced(run, epoch, Head())
        self.db.execute("UPDATE records SET body = '' WHERE run = %s AND seq <= %s", (run, upto))
        self.db.execute("UPDATE signals SET body = '' WHERE run = %s", (run,))

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

    def _locked(self, run: str) -> Any:
        return self.db.execute(
            "SELECT number, epoch, seq, hash, owner FROM runs WHERE run = %s FOR UPDATE", (run,)
        ).fetchone()

    def _hold(self, lock: Lock) -> None:
        if lock not in self._held:
            hold(self.db, lock, self._schema)
            self._held.add(lock)

    def _fenced(self, run: str, epoch: int, head: Head) -> ArtificerError:
        row = self.db.execute("SELECT epoch, seq, hash FROM runs WHERE run = %s", (run,)).fetchone()
        found = row and RunHead(run, row[0], Head(seq=row[1], hash=row[2]))
        return fenced(run, epoch, head, found or None)


def _read_run(row: Any) -> tuple[int, int, Head, str]:
    if row is None:
        return 0, 0, Head(), ""
    number, epoch, seq, hash_, owner = row
    return number, epoch, Head(seq=seq, hash=hash_), owner


def _one(cursor: psycopg.Cursor[Any]) -> Any:
    row = cursor.fetchone()
    assert row is not None
    return row


PostgresWork = Callable[[PostgresTransaction], Any]


class Unknown(Exception):
    """The connection was lost while a transaction was committed: only its number tells."""

    def __init__(self, xid: str, outcomes: list[Any]) -> None:
        super().__init__(xid)
        self.xid = xid
        self.outcomes = outcomes


class NotTogether(Exception):
    """One of several units of work cannot be written: none was, and each is to be done alone."""


def commit(
    db: Connection, schema: str, works: Sequence[PostgresWork], *, notes: bool = False
) -> list[Any]:
    """Do units of work in one transaction; return each one's result or error once it is durable.

    An ArtificerError that a unit raises before it writes anything is its own alone. When this
    raises, nothing was written, unless it raises Unknown. ``notes``: one of them writes notes.
    These are locked before any row, so that no transaction waits for one that waits for it.

    Raises:
        Unknown: the connection was lost at the end.
        NotTogether: one of several units cannot be written, or waited for another process that
            waited for it.
        psycopg.Error: the connection was lost before, or so waited the only unit: the same can be
            tried again.
    """
    transaction = PostgresTransaction(db, schema)
    outcomes: list[Any] = []
    xid = None
    try:
        with db.pipeline():  # who asks waits for the server, whoever only writes does not
            db.execute("BEGIN")
            if notes:
                transaction.begin_notes()
            outcomes = [_attempt(work, transaction) for work in works]
            xid = transaction.xid or _assigned(db)
            db.execute("COMMIT")
    except BaseException as error:  # half a unit must not be committed with the next
        if xid is not None and db.broken and isinstance(error, psycopg.Error):
            raise Unknown(xid, outcomes) from error
        return _failed(db, error, works)
    if transaction.has_arrivals:
        announce(db, schema)
    return outcomes


def _assigned(db: Connection) -> str | None:
    """The number of the transaction, once it has written something."""
    (xid,) = _one(db.execute("SELECT pg_current_xact_id_if_assigned()::text"))
    return None if xid is None else str(xid)


def _failed(db: Connection, error: BaseException, works: Sequence[PostgresWork]) -> list[Any]:
    """Undo all; return the outcome of the only unit of work, or raise what ``commit`` says."""
    with suppress(psycopg.Error):
        db.execute("ROLLBACK")
    if isinstance(error, psycopg.errors.PipelineAborted):  # what came after the one that failed
        error = error.__context__ or error
    if is_lost(error) and db.broken:
        raise error
    if len(works) > 1:  # it costs the others their shared commit, not their work
        raise NotTogether from error
    if not isinstance(error, FAULTS) or isinstance(error, psycopg.errors.DeadlockDetected):
        raise error
    return [designed(error)]


def _attempt(work: PostgresWork, transaction: PostgresTransaction) -> Any:
    try:
        return work(transaction)
    except ArtificerError as refused:
        return refused
