"""New runs and signals of a world, which PostgreSQL announces to those that wait for them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from hashlib import sha256

import psycopg
from psycopg import Connection, sql

from artificer.storage.postgres.connection import Database
from artificer.system.tasks import in_thread

CONNECT_SECONDS = 5
"""How long the server may take to answer, until it is tried again."""


def announce(db: Connection, schema: str) -> None:
    """Say that something has come, after the commit that brought it.

    Within that transaction all that announce would commit one after the other.
    """
    with suppress(psycopg.Error):
        db.execute("SELECT pg_notify(%s, '')", (_channel(schema),))


def _channel(schema: str) -> str:
    return f"artificer_{sha256(schema.encode()).hexdigest()[:32]}"


class PostgresArrivals:
    """The `Arrivals` of a world in PostgreSQL, over their own connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db: Connection | None = None

    async def wait(self, seconds: float) -> None:
        """Return when something has come since the last call, or after a time."""
        try:
            if self._db is None:  # a cancellation meanwhile leaves nothing open
                await in_thread(self._listen)
            assert self._db is not None
            await _arrived(self._db, seconds)
        except psycopg.Error:
            self.close()
            await asyncio.sleep(seconds)

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()
        self._db = None

    def _listen(self) -> None:
        self._db = self._database.connect(CONNECT_SECONDS)
        channel = sql.Identifier(_channel(self._database.schema))
        self._db.execute(sql.SQL("LISTEN {}").format(channel))


async def _arrived(db: Connection, seconds: float) -> None:
    """Return when something has come over a connection, or after a time."""
    loop, socket, readable = asyncio.get_running_loop(), db.fileno(), asyncio.Event()
    loop.add_reader(socket, readable.set)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not _received(db):
                    readable.clear()
                    await readable.wait()
    finally:
        loop.remove_reader(socket)


def _received(db: Connection) -> bool:
    """Take what has come over the connection; return whether that was anything."""
    db.pgconn.consume_input()
    found = False
    while db.pgconn.notifies() is not None:
        found = True
    return found
