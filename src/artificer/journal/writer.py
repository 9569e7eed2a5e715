"""The one thread that writes a journal, with group commit.

While a transaction is being made durable, others come to wait; all that wait when the thread is
free again share the next transaction, and so one fsync.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from artificer.errors import ArtificerError, AuthorError, InvariantError, TamperedError
from artificer.journal.audit import Tip
from artificer.journal.chain import fenced, next_world, run_seal
from artificer.journal.database import FAULTS, designed
from artificer.ports import Head, Lease, Record, RunHead

MAX_WAITING = 1024
"""How many appends and acquisitions may wait for the thread; more wait in their own tasks."""

T = TypeVar("T")


class Transaction:
    """What one unit of work may do, between BEGIN and COMMIT."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        row = db.execute("SELECT position, world FROM tip").fetchone()
        if row is None:
            raise TamperedError("The journal does not say where its world chain ends.")
        self._tip = self._start = Tip(*row)

    def acquire(self, run: str) -> Lease:
        """Give the run a new epoch, and make the run when it is unknown."""
        row = self._db.execute(
            "SELECT number, epoch, seq, hash FROM runs WHERE run = ?", (run,)
        ).fetchone()
        if row is None:
            (number,) = self._db.execute("SELECT coalesce(max(number), 0) + 1 FROM runs").fetchone()
            epoch, seq, hash_ = 1, 0, ""
            self._db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (number, run, epoch, seq, hash_, run_seal(number, run, epoch)),
            )
        else:
            number, epoch, seq, hash_ = row[0], row[1] + 1, row[2], row[3]
            self._db.execute(
                "UPDATE runs SET epoch = ?, seal = ? WHERE run = ?",
                (epoch, run_seal(number, run, epoch), run),
            )
        return Lease(epoch=epoch, head=Head(seq=seq, hash=hash_))

    def append(
        self, run: str, epoch: int, head: Head, records: Sequence[Record], new_head: Head
    ) -> Head:
        """Append records that are known to lead from ``head`` to ``new_head``.

        The UPDATE is the fence (invariant 6): it moves the head only for the writer that holds
        the epoch and knows the head, and it comes first, so a refused append has written nothing
        and its neighbours in the transaction go on.
        """
        moved = self._db.execute(
            "UPDATE runs SET seq = ?, hash = ? "
            "WHERE run = ? AND epoch = ? AND seq = ? AND hash = ?",
            (new_head.seq, new_head.hash, run, epoch, head.seq, head.hash),
        )
        if moved.rowcount == 0:
            raise self._fenced(run, epoch, head)
        for record in records:
            world = next_world(self._tip.world, record.hash)
            self._tip = Tip(self._tip.position + 1, world)
            self._db.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)",
                (self._tip.position, run, record.seq, record.hash, record.body, world),
            )
        return new_head

    def finish(self) -> None:
        """Write down where the world chain ends now."""
        if self._tip != self._start:
            self._db.execute(
                "UPDATE tip SET position = ?, world = ?", (self._tip.position, self._tip.world)
            )

    def _fenced(self, run: str, epoch: int, head: Head) -> ArtificerError:
        row = self._db.execute("SELECT epoch, seq, hash FROM runs WHERE run = ?", (run,)).fetchone()
        found = row and RunHead(run, row[0], Head(seq=row[1], hash=row[2]))
        return fenced(run, epoch, head, found)


@dataclass(frozen=True)
class _Job:
    work: Callable[[Transaction], Any]
    future: asyncio.Future[Any]


class Writer:
    """Runs units of work, each whole or not at all, in transactions that they may share.

    Make it and call it in one event loop. ``db`` is the thread's alone until it is closed.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(MAX_WAITING)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._unsettled: set[asyncio.Future[Any]] = set()
        self._closed = False
        # A daemon, so that a program which forgets to close the journal can still end; SQLite
        # takes no harm from that.
        self._thread = threading.Thread(target=self._run, name=f"journal {path.name}", daemon=True)
        self._thread.start()

    async def perform(self, work: Callable[[Transaction], T]) -> T:
        """Run the work in a transaction and return its result once that is durable.

        When the waiting task is cancelled the work may be done all the same: the run's head then
        tells. An ArtificerError that the work raises before it writes anything is its own alone.

        Raises:
            AuthorError: the journal is closed.
            OperatorError: the file could not be written; the journal is as it was.
        """
        await self._slots.acquire()
        if self._closed:
            self._slots.release()
            raise AuthorError(f"The journal {self._path} is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._unsettled.add(future)
        self._jobs.put(_Job(work, future))
        return await future

    async def aclose(self) -> None:
        """Finish the work that waits, then close the connection. May be called more than once."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        """The thread: batch after batch, until it is told to stop or its loop is gone."""
        try:
            while batch := self._next_batch():
                outcomes = self._commit(batch)
                self._loop.call_soon_threadsafe(self._settle, batch, outcomes)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
        finally:
            # Only a bug ends the thread before it is told to stop. Python prints the bug's trace,
            # and this sees to it that nobody waits for ever.
            self._db.close()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._give_up)

    def _next_batch(self) -> list[_Job]:
        """Wait for work and take all there is; empty when there will be no more."""
        batch: list[_Job] = []
        while not batch or not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)
                break
            batch.append(job)
        return batch

    def _commit(self, batch: list[_Job]) -> list[Any]:
        """Return each job's result or error, after the transaction is durable."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except FAULTS as error:
            return [designed(error, self._path) for _ in batch]
        try:
            transaction = Transaction(self._db)
            outcomes = [_attempt(job.work, transaction) for job in batch]
            transaction.finish()
            self._db.execute("COMMIT")
        except (TamperedError, *FAULTS) as error:
            with suppress(sqlite3.Error):  # SQLite has rolled back by itself after most faults
                self._db.execute("ROLLBACK")
            if len(batch) == 1:
                return [designed(error, self._path)]
            # One that cannot be written costs the others their shared commit, not their work.
            return [outcome for job in batch for outcome in self._commit([job])]
        return outcomes

    def _settle(self, batch: list[_Job], outcomes: list[Any]) -> None:
        for job, outcome in zip(batch, outcomes, strict=True):
            self._slots.release()
            self._unsettled.discard(job.future)
            if job.future.done():
                continue  # whoever waited was cancelled
            if isinstance(outcome, ArtificerError):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)

    def _give_up(self) -> None:
        self._closed = True
        for future in self._unsettled:
            self._slots.release()
            if not future.done():
                future.set_exception(
                    InvariantError(f"The thread that writes the journal {self._path} has died.")
                )
        self._unsettled.clear()


def _attempt(work: Callable[[Transaction], Any], transaction: Transaction) -> Any:
    try:
        return work(transaction)
    except ArtificerError as refused:
        return refused
