"""Kept states of runs, in tables of PostgreSQL that a crash of the server empties."""

from __future__ import annotations

from psycopg import Connection

from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.reader import snapshot


class PostgresSnapshots:
    """`Snapshots` in PostgreSQL. Every method raises OperatorError when it cannot be used."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep a state and the messages from ``first`` on, in one transaction."""
        if not self._server.database.read_only:
            self._server.read(lambda db: _put(db, run, state, first, chunk))

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""
        return self._server.read(lambda db: _get(db, run))

    def drop(self, run: str) -> None:
        """Forget a run."""
        if not self._server.database.read_only:
            self._server.read(lambda db: _drop(db, run))


def _put(db: Connection, run: str, state: bytes, first: int, chunk: bytes) -> None:
    with db.transaction():
        if first == 0:
            db.execute("DELETE FROM chunks WHERE run = %s", (run,))
        if chunk:
            db.execute(
                "INSERT INTO chunks VALUES (%s, %s, %s) "
                "ON CONFLICT (run, first) DO UPDATE SET body = excluded.body",
                (run, first, chunk),
            )
        db.execute(
            "INSERT INTO states VALUES (%s, %s) "
            "ON CONFLICT (run) DO UPDATE SET body = excluded.body",
            (run, state),
        )


def _get(db: Connection, run: str) -> tuple[bytes, list[bytes]] | None:
    with snapshot(db):
        row = db.execute("SELECT body FROM states WHERE run = %s", (run,), binary=True).fetchone()
        if row is None:
            return None
        query = "SELECT body FROM chunks WHERE run = %s ORDER BY first"
        chunks = db.execute(query, (run,), binary=True).fetchall()
    return bytes(row[0]), [bytes(body) for (body,) in chunks]


def _drop(db: Connection, run: str) -> None:
    with db.transaction():
        db.execute("DELETE FROM states WHERE run = %s", (run,))
        db.execute("DELETE FROM chunks WHERE run = %s", (run,))
