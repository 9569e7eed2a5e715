"""The event loop's own connection, for units of work that are one statement.

Who commits in a thread wakes that thread, which wakes the loop again. On a busy machine that takes
longer than the server does. Here the loop itself sends the statement and waits for the answer: for
one that shares its commit with nobody. Whatever does not succeed is left to the thread.

psycopg takes a statement for prepared although one before it in the pipeline had failed, so that it
was skipped. A rollback makes it forget; if there is none, another connection is needed.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import AsyncConnection

from artificer.storage.postgres.append_statement import PLAN_ONCE
from artificer.storage.postgres.committing import QuickStatement, UnitOfWork, Unknown
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.identity import is_here
from artificer.storage.postgres.locks import HOLD, Lock


class NotDone(Exception):
    """The statement was not executed, or has changed nothing."""


class LoopLine:
    """One connection, opened when it is first used, for one statement at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db: AsyncConnection | None = None

    async def commit(self, unit: UnitOfWork) -> Any:
        """Do a unit that has a quick statement; return its result once it is durable.

        Raises:
            NotDone: nothing has changed.
            Unknown: the connection was lost.
        """
        assert unit.quick is not None
        try:
            statement = unit.quick()
            db = await self._connected()
        except Exception as error:  # of any kind: nothing was sent
            raise NotDone from error
        try:
            if statement.notes:
                await self._send_with_lock(db, statement)
            else:
                await db.execute(statement.query, statement.values)
        except Exception as error:  # of any kind: it may have been sent
            if isinstance(error, psycopg.Error) and not db.broken:
                if isinstance(error, psycopg.errors.InvalidSqlStatementName):
                    await db.close()
                raise NotDone from error
            raise Unknown(None, []) from error
        return statement.result

    async def aclose(self) -> None:
        """Close the connection. May be called more than once."""
        if self._db is not None:
            await self._db.close()

    async def _send_with_lock(self, db: AsyncConnection, statement: QuickStatement) -> None:
        """Lock the notes and execute a statement: one transaction, sent and waited for at once.

        Without BEGIN and COMMIT, what a pipeline sends before its end is one.
        """
        lock = {"lock": int(Lock.NOTES), "schema": self._database.schema}
        async with db.pipeline():
            await db.execute(HOLD, lock)
            await db.execute(statement.query, statement.values)

    async def _connected(self) -> AsyncConnection:
        if self._db is None or self._db.closed:
            db = await self._database.connect_loop()
            try:
                if not await is_here(db):
                    raise NotDone
                await db.execute(PLAN_ONCE)
            except BaseException:  # a cancellation too: nobody else could close it
                await db.close()
                raise
            self._db = db
        return self._db
