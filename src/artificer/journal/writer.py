"""The one thread that writes a journal, with group commit.

While a transaction is being made durable, others come to wait; all that wait when the thread is
free again share the next transaction, and so one fsync.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from artificer.errors import ArtificerError, AuthorError, InvariantError
from artificer.journal.transaction import Transaction, commit

MAX_WAITING = 1024
"""How many appends and acquisitions may wait for the thread; more wait in their own tasks."""

T = TypeVar("T")


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
                outcomes = commit(self._db, self._path, [job.work for job in batch])
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
