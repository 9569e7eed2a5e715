"""Writing a world in PostgreSQL, with group commit.

What comes while a transaction is being committed shares the next one. A connection that is lost is
made again, and what was just being committed is found out before anything is done twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from msgspec import Struct
from psycopg import Connection

from artificer.errors import ArtificerError, TamperedError
from artificer.storage.closed import closed
from artificer.storage.postgres.append_statement import PLAN_ONCE
from artificer.storage.postgres.chaining import catch_up, end_of, waiting
from artificer.storage.postgres.committing import NotAtOnce, UnitOfWork, Unknown, commit
from artificer.storage.postgres.connection import PATIENCE_SECONDS, Database
from artificer.storage.postgres.faults import designed, in_doubt, is_lost, only_read
from artificer.storage.postgres.identity import checked
from artificer.storage.postgres.loop_line import LoopLine, NotDone
from artificer.storage.postgres.traces import are_there, status
from artificer.storage.postgres.transaction import PostgresTransaction

T = TypeVar("T")

BATCH = 32
"""Most units of work in one commit."""

CHAIN_SECONDS = 1.0
"""How long after a commit its process moves the world's chain on."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two attempts to reach the database."""


class _Job(Struct, frozen=True, gc=False):
    unit: UnitOfWork
    future: asyncio.Future[Any]


class PostgresWriter:
    """Performs units of work, in one thread with one connection; quick ones in the event loop."""

    def __init__(self, database: Database) -> None:
        self._line = WritingLine(database)
        self._loop_line = LoopLine(database)
        self._read_only = database.read_only
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="artificer postgres write")
        self._waiting: list[_Job] = []
        self._flushing: asyncio.Task[None] | None = None
        self._chaining: asyncio.TimerHandle | None = None
        self._closed = False
        self._has_written = False

    def perform(
        self, work: Callable[[PostgresTransaction], T], *, notes: bool = False
    ) -> asyncio.Future[T]:
        """Perform the work in a transaction; its result is there once that is durable.

        ``notes``: it writes notes, see `UnitOfWork`.

        When the waiting task is cancelled the work may be done all the same: the run's head then
        tells. An ArtificerError that the work raises before it writes anything is its own alone.

        Raises:
            AuthorError: the storage is closed.
            OperatorError: the database could not be written; the world is as it was.
            TamperedError: the end of the world's chain was changed while it was open.
        """
        return self.add(UnitOfWork(work, notes=notes))

    def add(self, unit: UnitOfWork) -> asyncio.Future[Any]:
        """Perform a unit of work. See ``perform``."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if refusal := self._refusal():
            future.set_exception(refusal)
            return future
        self._waiting.append(_Job(unit, future))
        if self._flushing is None or self._flushing.done():  # it ended with its event loop
            self._flushing = loop.create_task(self._flush())
        return future

    def _refusal(self) -> ArtificerError | None:
        """Return why nothing is written any more, if that is so."""
        if self._closed:
            return closed("storage of the world")
        return self._line.damage or (only_read() if self._read_only else None)

    async def _flush(self) -> None:
        """Commit what waits, batch by batch."""
        while self._waiting:
            jobs, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            outcomes = await self._commit([job.unit for job in jobs])
            for job, outcome in zip(jobs, outcomes, strict=True):
                if job.future.done():
                    continue  # the waiting task was cancelled
                if isinstance(outcome, BaseException):
                    job.future.set_exception(outcome)
                else:
                    job.future.set_result(outcome)
        self._flushing = None
        self._has_written = True
        if self._chaining is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._chaining = loop.call_later(CHAIN_SECONDS, self._chain)

    async def _commit(self, units: list[UnitOfWork]) -> list[Any]:
        """Do units of work, and return their outcomes: in the thread, unless one is quick."""
        if len(units) == 1 and units[0].quick is not None:
            try:
                return [await self._loop_line.commit(units[0])]
            except NotDone:  # the thread finds out why, and waits for a server that is away
                units = [units[0].carefully()]
            except Unknown:
                units = [units[0].doubted()]
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._thread, self._line.commit, units)
        await asyncio.wait([done])
        bug = done.exception()  # of a unit of work: nobody is to wait for ever
        return done.result() if bug is None else [bug] * len(units)

    def _chain(self) -> None:
        self._chaining = None
        self._thread.submit(self._line.chain)

    async def aclose(self) -> None:
        """Finish the work that waits, then close the connection. May be called more than once."""
        self._closed = True
        if self._flushing is not None and not self._flushing.done():
            await self._flushing
        if self._chaining is not None:
            self._chaining.cancel()
        if self._has_written:  # nobody else may come who does it, and readers cannot
            self._has_written = False
            self._thread.submit(self._line.chain_all)
        await asyncio.to_thread(self._thread.shutdown)
        self._line.close()
        await self._loop_line.aclose()


class _Patience:
    """How long a database that is away is waited for, since it was last there."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Begin again: the database was there."""
        self._until = time.monotonic() + self._seconds

    @property
    def is_over(self) -> bool:
        """Whether it has been away for too long."""
        return time.monotonic() > self._until


class WritingLine:
    """One connection that writes, made again when it is lost. For one thread at a time.

    A database that is away is waited for, ``patience_s`` since it was last there.
    """

    def __init__(self, database: Database, patience_s: float = PATIENCE_SECONDS) -> None:
        self._database = database
        self._patience_s = patience_s
        self._db: Connection | None = None
        self.damage: TamperedError | None = None
        """The damage that was found as the world's chain moved on: nothing is written after it."""

    def commit(self, units: Sequence[UnitOfWork]) -> list[Any]:
        """Do units of work, together if they can be; return each one's result or error."""
        patience = _Patience(self._patience_s)
        try:
            return self._commit(units, patience)
        except NotAtOnce as apart:
            return [self._by_itself(unit, patience) for unit in apart.units]

    def _by_itself(self, unit: UnitOfWork, patience: _Patience) -> Any:
        try:
            (outcome,) = self._commit([unit], patience)
        except NotAtOnce as refused:
            return self._by_itself(refused.units[0], patience)
        except Exception as bug:  # noqa: BLE001 - of the unit of work: it is that one's outcome
            return bug
        return outcome

    def _commit(self, units: Sequence[UnitOfWork], patience: _Patience) -> list[Any]:
        """Do them in one transaction. Raises NotAtOnce."""
        pause, doubt = FIRST_PAUSE, None
        while True:
            try:
                db = self._connected()
                if doubt is None or not _was_committed(db, doubt):
                    doubt = None
                    outcomes = commit(db, self._database.schema, units)
                else:
                    outcomes = doubt.outcomes
                patience.renew()
                return outcomes
            except Unknown as unknown:
                doubt = unknown if unknown.xid is not None else None
                if doubt is None:
                    units = [unit.doubted() for unit in units]
            except psycopg.Error as error:
                if not is_lost(error) or patience.is_over:
                    known = doubt is None and not units[0].is_in_doubt
                    return [designed(error) if known else in_doubt(error)] * len(units)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def chain(self) -> None:
        """Move the world's chain on, if the database is there: someone else may do it."""
        try:
            catch_up(self._connected())
        except TamperedError as error:
            self.damage = error
        except (psycopg.Error, ArtificerError):
            pass

    def chain_all(self) -> None:
        """Move the world's chain on to its end, unless others hold it up for too long."""
        give_up = time.monotonic() + CHAIN_SECONDS
        with suppress(psycopg.Error, ArtificerError):
            db = self._connected()
            catch_up(db)
            while waiting(db, end_of(db), limit=1) and time.monotonic() < give_up:
                time.sleep(FIRST_PAUSE)
                catch_up(db)

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()

    def _connected(self) -> Connection:
        if self._db is None or self._db.closed:
            self._db = checked(self._database.connect())
            self._db.execute(PLAN_ONCE)
        return self._db


def _was_committed(db: Connection, doubt: Unknown) -> bool:
    """Whether a transaction was committed; one that still runs is waited for."""
    while (found := status(db, doubt.xid or "")) == "in progress":
        time.sleep(FIRST_PAUSE)
    return found == "committed" and are_there(db, doubt.traces)
