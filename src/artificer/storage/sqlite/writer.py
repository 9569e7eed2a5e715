"""Writing a journal, with group commit.

Work of one round of the event loop shares one transaction, and so one fsync. It is
made in the loop itself: ``docs/decisions/0008-commits-in-the-loop.md`` says why there is no thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from artificer.errors import AuthorError
from artificer.storage.closed import closed
from artificer.storage.sqlite.anchor import Anchor
from artificer.storage.sqlite.commit_queue import CommitQueue, WaitingWork
from artificer.storage.sqlite.database import Locked, only_read
from artificer.storage.sqlite.in_place import FilesInPlace
from artificer.storage.sqlite.log_space import LogSpace
from artificer.storage.sqlite.transaction import KnownTotals, Transaction, commit
from artificer.system.tasks import ShieldedFuture

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
"""Seconds between two attempts while another process holds the file."""


class Writer:
    """Performs units of work in the event loop. At most one job of each waiting task is kept."""

    def __init__(
        self, db: sqlite3.Connection, path: Path, busy_seconds: float, anchor: Anchor
    ) -> None:
        self._db = db
        self._anchor = anchor
        self._path = path
        self._files = FilesInPlace(path)
        self._log = LogSpace(path)
        self._known = KnownTotals()
        self._busy_seconds = busy_seconds
        self._loop = asyncio.get_running_loop()
        self._waiting = CommitQueue()
        self._closed = False
        db.execute("PRAGMA busy_timeout = 0")  # the loop must not sleep in SQLite

    def perform(
        self,
        work: Callable[[Transaction], T],
        age: int = 0,
        *,
        at_once: bool = False,
        shielded: bool = False,
    ) -> asyncio.Future[T]:
        """Perform the work in a transaction; its result is there once that is durable.

        ``age`` is lower for what belongs to an older run: that goes first where much waits. Work
        that nothing else could join is committed ``at_once``. With ``shielded`` the future cannot
        be cancelled: see `ShieldedFuture`.

        When the waiting task is cancelled the work may be done all the same: the run's head then
        tells. An ArtificerError that the work raises before it writes anything is its own alone.

        Raises:
            AuthorError: the journal is closed, or was opened in another event loop.
            OperatorError: the file could not be written; the journal is as it was.
        """
        if not self._closed and asyncio.get_running_loop() is not self._loop:
            raise AuthorError(
                f"The journal {self._path} was opened in another event loop.",
                hint="Use a world in the event loop that opened it. In another thread, leave out "
                "`world`, or open one there.",
            )
        future: asyncio.Future[T] = (
            ShieldedFuture(loop=self._loop) if shielded else self._loop.create_future()
        )
        if self._closed:
            future.set_exception(closed(f"journal {self._path}"))
            return future
        if at_once and not self._waiting:
            (outcome,) = self._commit((work,))
            if not isinstance(outcome, Locked):
                _end(future, outcome)
                return future
        self._waiting.add(WaitingWork(work, future), age)
        if len(self._waiting) == 1:
            deadline = self._loop.time() + self._busy_seconds
            self._loop.call_soon(self._flush, deadline, FIRST_PAUSE)
        return future

    def _flush(self, deadline: float, pause: float) -> None:
        """Commit what waits; while another process holds the file, try again later."""
        if not self._waiting:
            return  # closing has done it
        jobs = self._waiting.all() if self._closed else self._waiting.batch()
        works = [job.work for job in jobs.values()]
        outcomes = self._commit(works)
        locked = all(isinstance(outcome, Locked) for outcome in outcomes)
        if locked and self._loop.time() < deadline and not self._closed:
            self._loop.call_later(pause, self._flush, deadline, min(2 * pause, LONGEST_PAUSE))
            return
        if locked:  # nobody waits for longer than that, in no later batch either
            jobs = self._waiting.all()
            outcomes = [outcomes[0]] * len(jobs)
        self._waiting.remove(jobs)
        if self._waiting:
            self._loop.call_soon(self._flush, self._loop.time() + self._busy_seconds, FIRST_PAUSE)
        for job, outcome in zip(jobs.values(), outcomes, strict=True):
            if not job.future.done():  # the waiting task was not cancelled
                _end(job.future, outcome)

    def _commit(self, works: Sequence[Callable[[Transaction], Any]]) -> list[Any]:
        return commit(self._db, self._path, works, self._anchor, self._log, self._known)

    async def aclose(self) -> None:
        """Finish the work that waits, then close the connection. May be called more than once."""
        if not self._closed:
            self._closed = True
            self._flush(self._loop.time(), FIRST_PAUSE)
            self._db.close()
            self._log.close()
            self._anchor.close()

    async def anchor(self) -> None:
        """Make durable that the journal has come this far: before an effect.

        Raises:
            OperatorError: the anchor cannot be written, or a file of the journal is gone.
        """
        self._files.check()  # here: in threads, a later call's could end first
        await asyncio.to_thread(self._anchor.sync)


def _end(future: asyncio.Future[Any], outcome: Any) -> None:
    """Set the result of a future, or its exception if the outcome is one."""
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


class NoWriter(Writer):
    """In the place of the writer of a journal that is only read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def perform(
        self,
        work: Callable[[Transaction], T],
        age: int = 0,
        *,
        at_once: bool = False,
        shielded: bool = False,
    ) -> asyncio.Future[T]:
        """Refuse. Raises OperatorError."""
        raise only_read(self._path)

    async def anchor(self) -> None:
        """Refuse. Raises OperatorError."""
        raise only_read(self._path)

    async def aclose(self) -> None:
        """Nothing was opened."""
