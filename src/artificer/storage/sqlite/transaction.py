"""Writing between BEGIN and COMMIT, and the only way to commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from artificer.errors import ArtificerError, TamperedError
from artificer.ports import Amount, Claim, Head, Lease, Record, RunHead
from artificer.storage.audit import Tip
from artificer.storage.chain import (
    check_seal,
    claimed,
    fenced,
    next_signal,
    next_world,
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
from artificer.storage.sqlite.anchor import Anchor, Mark
from artificer.storage.sqlite.database import FAULTS, designed
from artificer.storage.sqlite.log_space import LogSpace
from artificer.storage.sqlite.reader import last_note, read_tip
from artificer.values.canon import digest_of

MAX_KNOWN = 256
"""Accounts whose totals are remembered: more are read again."""


class KnownTotals:
    """The amounts that accounts have spent, as one connection has read or written them.

    They are right as long as the world ends where that connection left it: every change is a note.
    """

    def __init__(self) -> None:
        self._at: Tip | None = None
        self._totals: dict[str, Amount] = {}

    def begin(self, tip: Tip) -> dict[str, Amount]:
        """Return what is known of a world that ends there, for a transaction to change."""
        if tip != self._at or len(self._totals) > MAX_KNOWN:
            self._totals.clear()
        self._at = None  # until the transaction has come to its end
        return self._totals

    def end(self, tip: Tip) -> None:
        """Note where the world ends once the transaction is committed."""
        self._at = tip


class Transaction:
    """The writes that a unit of work may make, between BEGIN and COMMIT.

    ``totals`` is what accounts have spent, where that is known.
    """

    def __init__(self, db: sqlite3.Connection, known: KnownTotals) -> None:
        self._db = db
        self._tip = self._start = read_tip(db)
        self._newest = ("", 0)
        self._known = known
        self.totals = known.begin(self._start)

    def acquire(self, run: str, claim: Claim) -> Lease:
        """Give the run a new epoch and owner, and make the run when it is unknown.

        Whatever refuses comes before the first write, so a refused claim has changed nothing.
        Raises TamperedError for a run whose row was changed.
        """
        row = self._db.execute(
            "SELECT number, epoch, seq, hash, seal FROM runs WHERE run = ?", (run,)
        ).fetchone()
        if row is None:
            (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM runs").fetchone()
            row = (last + 1, 0, 0, "")
        else:
            check_seal(row[0], run, row[1], row[4])
        number, epoch, head = row[0], row[1] + 1, Head(seq=row[2], hash=row[3])
        owners = claimed(run, claim, head, self._owners(run, row[1]))
        self._db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch, seal = excluded.seal",
            (number, run, epoch, head.seq, head.hash, run_seal(number, run, epoch)),
        )
        self._own(run, epoch, owners)
        return Lease(epoch=epoch, head=head)

    def release(self, run: str, epoch: int) -> None:
        """Release a run if its epoch is still this one."""
        row = self._db.execute("SELECT epoch, seq FROM runs WHERE run = ?", (run,)).fetchone()
        if row is not None and row[0] == epoch:
            self._own(run, epoch, released(self._owners(run, epoch) or "", row[1]))

    def _owners(self, run: str, epoch: int) -> str | None:
        if not epoch:
            return ""
        row = self._db.execute("SELECT epoch, owner FROM owners WHERE run = ?", (run,)).fetchone()
        return row[1] if row is not None and row[0] == epoch else None

    def _own(self, run: str, epoch: int, owners: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", (run, epoch, owners))

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
        the epoch and knows the head, and it comes first, so a refused append has written nothing
        and its neighbours in the transaction continue.
        """
        moved = self._db.execute(
            "UPDATE runs SET seq = ?, hash = ? "
            "WHERE run = ? AND epoch = ? AND seq = ? AND hash = ?",
            (new_head.seq, new_head.hash, run, epoch, head.seq, head.hash),
        )
        if moved.rowcount == 0:
            raise self._fenced(run, epoch, head)
        # Bytes go through sqlite3's adapters, which takes 3,000 instructions each; a bytearray not.
        rows: list[tuple[Any, ...]] = []
        position, world = self._tip.position, self._tip.world
        for record in records:
            position, world = position + 1, next_world(world, record.hash)
            rows.append((position, run, record.seq, record.hash, bytearray(record.body), world))
        self._tip = Tip(position, world)
        self._db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._newest = (run, new_head.seq)
        rows = [(digest_of(blob), bytearray(blob)) for blob in blobs]
        self._db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", rows)

    def note(self, note: Note) -> None:
        """Write a note into the world's chain. The caller changes the table that it is about."""
        body = note.canonical()
        hash_ = digest_of(body)
        self._tip = tip = Tip(self._tip.position + 1, next_world(self._tip.world, hash_))
        self._db.execute(
            "INSERT INTO notes VALUES (?, ?, ?, ?, ?)",
            (tip.position, note.subject, hash_, body, tip.world),
        )

    def last(self, subject: str) -> Note | None:
        """Return the newest note about a subject. Raises TamperedError."""
        return last_note(self._db, subject)

    def post(self, run: str, body: bytes, at: int) -> int:
        """Add a signal to a run's queue and return its number."""
        n = next_signal(run, signals_after(self.last(signals_of(run))))
        self.note(SignalPosted(run=run, n=n, body=digest_of(body), at=at))
        self._db.execute("INSERT INTO letters (run, n, body) VALUES (?, ?, ?)", (run, n, body))
        return n

    def add_version(self, name: str, number: int, digest: str, run: str) -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        if number != 1 + version_after(self.last(versions_of(run, name))):
            return False
        self.note(VersionAdded(run=run, workspace=name, number=number, digest=digest))
        self._db.execute("INSERT INTO versions VALUES (?, ?, ?, ?)", (run, name, number, digest))
        return True

    def erase(self, run: str, epoch: int, upto: int) -> None:
        """Empty the bodies of a run's first records and signals; their hashes stay."""
        row = self._db.execute("SELECT epoch FROM runs WHERE run = ?", (run,)).fetchone()
        if row is None or row[0] != epoch:
            raise self._fenced(run, epoch, Head())
        self._db.execute("UPDATE records SET body = x'' WHERE run = ? AND seq <= ?", (run, upto))
        self._db.execute("UPDATE letters SET body = x'' WHERE run = ?", (run,))

    def forget(self, digests: Iterable[str], at: int) -> bool:
        """Delete blobs if no record has come since a position; return whether none has."""
        if self._tip.position != at:
            return False
        self._db.executemany("DELETE FROM blobs WHERE digest = ?", [(d,) for d in digests])
        return True

    @property
    def mark(self) -> Mark | None:
        """Where the world ends with this transaction; None when it has added nothing."""
        return (
            None
            if self._tip == self._start
            else Mark(self._tip.position, self._tip.world, *self._newest)
        )

    @property
    def position(self) -> int:
        """How many records and notes the world has."""
        return self._tip.position

    @property
    def db(self) -> sqlite3.Connection:
        """The file. A table that follows from notes changes together with one."""
        return self._db

    def finish(self) -> None:
        """Write down where the world chain ends now."""
        if self._tip != self._start:
            self._db.execute(
                "UPDATE tip SET position = ?, world = ?", (self._tip.position, self._tip.world)
            )
        self._known.end(self._tip)

    def _fenced(self, run: str, epoch: int, head: Head) -> ArtificerError:
        row = self._db.execute("SELECT epoch, seq, hash FROM runs WHERE run = ?", (run,)).fetchone()
        found = row and RunHead(run, row[0], Head(seq=row[1], hash=row[2]))
        return fenced(run, epoch, head, found)


Work = Callable[[Transaction], Any]


def commit(
    db: sqlite3.Connection,
    path: Path,
    works: Sequence[Work],
    anchor: Anchor | None,
    log: LogSpace | None = None,
    known: KnownTotals | None = None,
) -> list[Any]:
    """Do units of work in one transaction; return each one's result or error once it is durable.

    The anchor then knows of it, and the log has space for it. Only a file that is a copy has none.

    An ArtificerError that a unit raises before it writes anything is its own alone. When the
    transaction itself fails, nothing was written; neither is anything of a unit with a bug.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
    except FAULTS as error:
        return [designed(error, path) for _ in works]
    try:
        transaction = Transaction(db, known or KnownTotals())
        outcomes = [_attempt(work, transaction) for work in works]
        transaction.finish()
        if log is not None:
            log.add()
        db.execute("COMMIT")
    except BaseException as error:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself after most faults
            db.execute("ROLLBACK")
        if not isinstance(error, Exception):  # an interrupt
            raise
        if len(works) == 1:
            is_fault = isinstance(error, (TamperedError, *FAULTS))
            return [designed(error, path) if is_fault else error]
        # One that cannot be written costs the others their shared commit, not their work.
        return [
            outcome for work in works for outcome in commit(db, path, [work], anchor, log, known)
        ]
    if anchor is not None and (mark := transaction.mark) is not None:
        anchor.note(mark)
    return outcomes


def _attempt(work: Work, transaction: Transaction) -> Any:
    try:
        return work(transaction)
    except ArtificerError as refused:
        return refused
