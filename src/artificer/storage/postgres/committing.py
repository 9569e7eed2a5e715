"""The only way to commit: several units of work in one transaction, and its outcome.

The answer to a commit can be lost with the connection. Two ways find out what it did:

- A unit that can tell by itself, as an append can, is done ``again``: that finds what it wrote, or
  writes it. Nothing is asked before the commit, so all is sent at once, and waited for once.
- Other units need the number of the transaction, which is read before: ``pg_xact_status`` tells,
  with what the transaction has left, as a server that has crashed may give the number away again.

The transaction of a lost connection may still be in progress, or not yet have been read by its
server. The first is waited for, by a lock that it holds or by its number. The second can do
nothing any more once its append is done again, or its run has another epoch: its fence finds
another head, and fails it. See docs/decisions/0055-an-append-waits-once.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from msgspec import Struct
from msgspec.structs import replace
from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.storage.postgres.append_statement import NOT_WRITTEN
from artificer.storage.postgres.arrivals import announce
from artificer.storage.postgres.faults import FAULTS, designed, in_doubt, is_lost
from artificer.storage.postgres.traces import Trace
from artificer.storage.postgres.transaction import PostgresTransaction, PostgresWork


class QuickStatement(Struct, frozen=True, gc=False):
    """A statement that does a unit of work, and the outcome of the unit when it succeeds.

    One that writes ``notes`` is sent behind the statement that locks them, as one transaction.
    """

    query: bytes
    values: dict[str, Any]
    result: Any
    notes: bool = False


class UnitOfWork(Struct, frozen=True, gc=False):
    """A unit of work.

    ``again`` does what ``write`` does unless it finds it done. ``refusal`` asks why the fence has
    rejected it. ``careful`` does what ``write`` does when that was refused: it asks before it
    writes anything, and so can say why not.

    One that ``is_statement`` executes only one, which needs no BEGIN and no COMMIT. One that writes
    ``notes`` has them locked before any row of its transaction is, so that no transaction waits for
    one that waits for it.
    """

    write: PostgresWork
    again: PostgresWork | None = None
    refusal: Callable[[Connection], ArtificerError] | None = None
    is_statement: bool = False
    notes: bool = False
    careful: PostgresWork | None = None
    quick: Callable[[], QuickStatement] | None = None
    """Makes its statement, where that is short and announces nothing. May raise."""
    is_in_doubt: bool = False
    """Whether it may have been committed, or may still be, by a connection that was lost."""

    def doubted(self) -> UnitOfWork:
        """Return this work for another try, when nobody knows whether it was done."""
        assert self.again is not None
        return replace(
            self, write=self.again, is_statement=False, careful=None, quick=None, is_in_doubt=True
        )

    def carefully(self) -> UnitOfWork:
        """Return this work for another try, when it was refused."""
        return replace(self, write=self.careful or self.write, careful=None, quick=None)

    def failure(self, db: Connection, error: Exception) -> ArtificerError:
        """Return its outcome when the database does not write it."""
        if self.refusal is not None and isinstance(error, NOT_WRITTEN):
            return self.refusal(db)
        return in_doubt(error) if self.is_in_doubt else designed(error)


class Unknown(Exception):
    """The connection was lost while a transaction was committed.

    Its number and its ``traces`` tell what became of it; without a number, each unit does.
    """

    def __init__(self, xid: str | None, outcomes: list[Any], traces: Sequence[Trace] = ()) -> None:
        super().__init__(xid)
        self.xid = xid
        self.outcomes = outcomes
        self.traces = traces


class NotAtOnce(Exception):
    """One of several units of work cannot be written: none was, and each is to be done alone.

    Or the only one cannot be written without asking first.
    """

    def __init__(self, units: Sequence[UnitOfWork]) -> None:
        super().__init__()
        self.units = units


def commit(db: Connection, schema: str, units: Sequence[UnitOfWork]) -> list[Any]:
    """Do units of work in one transaction; return each one's result or error once it is durable.

    An ArtificerError that a unit raises before it writes anything is its own alone. When this
    raises, nothing was written, unless it raises Unknown.

    Raises:
        Unknown: the connection was lost at the end.
        NotAtOnce: one of several units cannot be written, or waited for another process that
            waited for it; or the only one is to be done carefully.
        psycopg.Error: the connection was lost before, or so waited the only unit: the same can be
            tried again.
    """
    transaction = PostgresTransaction(db, schema)
    is_statement = len(units) == 1 and units[0].is_statement
    outcomes = (_commit_statement if is_statement else _commit_all)(transaction, units)
    if transaction.has_arrivals:
        announce(db, schema)
    return outcomes


def _commit_all(transaction: PostgresTransaction, units: Sequence[UnitOfWork]) -> list[Any]:
    """Do units of work between BEGIN and COMMIT."""
    db = transaction.db
    outcomes: list[Any] = []
    xid, is_sent = None, False
    can_tell = all(unit.again is not None for unit in units)
    try:
        with db.pipeline():  # a reader waits for the server, a writer does not
            db.execute("BEGIN")
            if any(unit.notes for unit in units):
                transaction.begin_notes()
            outcomes = [_attempt(unit.write, transaction) for unit in units]
            xid = None if can_tell else _assigned(db)
            is_sent = can_tell or xid is not None
            db.execute("COMMIT")
    except BaseException as error:  # half a unit must not be committed with the next
        if is_sent and db.broken and isinstance(error, psycopg.Error):
            raise Unknown(xid, outcomes, transaction.traces) from error
        return _failed(db, error, units)
    return outcomes


def _commit_statement(transaction: PostgresTransaction, units: Sequence[UnitOfWork]) -> list[Any]:
    """Do the only unit, whose statement is a transaction by itself."""
    db = transaction.db
    try:
        return [_attempt(units[0].write, transaction)]
    except psycopg.Error as error:
        if db.broken:
            raise Unknown(None, []) from error
        return _failed(db, error, units)


def _assigned(db: Connection) -> str | None:
    """The number of the transaction, once it has written something."""
    row = db.execute("SELECT pg_current_xact_id_if_assigned()::text").fetchone()
    return None if row is None else row[0]


def _failed(db: Connection, error: BaseException, units: Sequence[UnitOfWork]) -> list[Any]:
    """Undo all; return the outcome of the only unit of work, or raise what ``commit`` says."""
    with suppress(psycopg.Error):
        db.rollback()  # psycopg then forgets what it takes for prepared; see `loop_line`
    if isinstance(error, psycopg.errors.PipelineAborted):  # what came after the one that failed
        error = error.__context__ or error
    if is_lost(error) and db.broken:
        raise error
    if len(units) > 1:  # it costs the others their shared commit, not their work
        raise NotAtOnce(units) from error
    if not isinstance(error, FAULTS) or isinstance(error, psycopg.errors.DeadlockDetected):
        raise error
    if units[0].careful is not None:
        raise NotAtOnce([units[0].carefully()]) from error
    return [units[0].failure(db, error)]


def _attempt(work: PostgresWork, transaction: PostgresTransaction) -> Any:
    try:
        return work(transaction)
    except ArtificerError as refused:
        return refused
