"""The versions of workspaces, in PostgreSQL.

A version is committed together with the note that says so. What is read is held against the notes:
the table is a cache of them.
"""

from __future__ import annotations

import threading

from psycopg import Connection

from artificer.errors import ArtificerError
from artificer.storage.agreement import agreed_names, agreed_version
from artificer.storage.notes import range_of, read_note, versions_of
from artificer.storage.postgres.committing import UnitOfWork
from artificer.storage.postgres.connection import Database, Server
from artificer.storage.postgres.faults import only_read
from artificer.storage.postgres.reader import last_note, snapshot
from artificer.storage.postgres.writer import WritingLine

_HEAD = (
    "SELECT number, digest FROM versions WHERE run = %s AND workspace = %s "
    "ORDER BY number DESC LIMIT 1"
)
_ONE = "SELECT number, digest FROM versions WHERE run = %s AND workspace = %s AND number = %s"
_SUBJECTS = (
    'SELECT DISTINCT subject FROM notes WHERE subject COLLATE "C" >= %s '
    'AND subject COLLATE "C" < %s'
)
_NOTE = "SELECT hash, body FROM notes WHERE subject = %s ORDER BY entry LIMIT 1 OFFSET %s"


class PostgresVersions:
    """`Versions` in PostgreSQL, for any number of threads, processes and machines.

    They are used from threads, so they write on their own connection. Every method raises
    OperatorError when the database cannot be used, and TamperedError when the table says something
    else than the notes.
    """

    def __init__(self, database: Database, server: Server) -> None:
        self._server = server
        self._read_only = database.read_only
        self._line = WritingLine(database)
        self._lock = threading.Lock()

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest."""
        return self._server.read(lambda db: _head(db, name, run))

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest."""
        return self._server.read(lambda db: _get(db, name, number, run))

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        if self._read_only:
            raise only_read()
        with self._lock:
            unit = UnitOfWork(lambda work: work.add_version(name, number, digest, run), notes=True)
            (added,) = self._line.commit([unit])
        if isinstance(added, ArtificerError):
            raise added
        return bool(added)

    def names(self, run: str = "") -> list[str]:
        """Every name, in order."""
        return self._server.read(lambda db: _names(db, run))

    def close(self) -> None:
        """Close the connection that writes."""
        with self._lock:
            self._line.close()


def _head(db: Connection, name: str, run: str) -> tuple[int, str] | None:
    with snapshot(db):
        row = db.execute(_HEAD, (run, name)).fetchone()
        return agreed_version(name, row, last_note(db, versions_of(run, name)))


def _get(db: Connection, name: str, number: int, run: str) -> str | None:
    if number < 1:
        return None
    with snapshot(db):
        row = db.execute(_ONE, (run, name, number)).fetchone()
        noted = db.execute(_NOTE, (versions_of(run, name), number - 1)).fetchone()
        found = agreed_version(name, row, None if noted is None else read_note(*noted))
        return None if found is None else found[1]


def _names(db: Connection, run: str) -> list[str]:
    with snapshot(db):
        rows = db.execute("SELECT DISTINCT workspace FROM versions WHERE run = %s", (run,))
        return agreed_names(rows.fetchall(), db.execute(_SUBJECTS, range_of(run)).fetchall())
