"""The leases of owners in PostgreSQL: they end by the clock of the database alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, LiteralString, TypeVar

from psycopg import Connection

from artificer.errors import Fenced, OperatorError
from artificer.ports import LeasedOwner, OwnerHost, OwnerLease
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.faults import FAULTS, designed, is_lost, only_read
from artificer.storage.postgres.identity import checked

T = TypeVar("T")

TIMEOUT_SECONDS = 5
"""How long a server may take to answer: a lease that cannot be renewed is to be known early."""

KEPT_DAYS = 30
"""How long a silent owner is kept in the table; without its row, it counts as unknown."""

_EXTEND: LiteralString = """
WITH former AS (SELECT until FROM owners WHERE owner = %(owner)s AND NOT dead FOR UPDATE)
UPDATE owners SET until = clock_timestamp() + make_interval(secs => %(seconds)s)
FROM former WHERE owners.owner = %(owner)s RETURNING former.until > clock_timestamp()
"""
_BEGIN: LiteralString = (
    "INSERT INTO owners VALUES (%(owner)s, %(machine)s, %(boot)s, %(host)s, %(who)s, "
    "clock_timestamp() + make_interval(secs => %(seconds)s)) ON CONFLICT DO NOTHING"
)
_SWEEP: LiteralString = (
    "DELETE FROM owners WHERE until < clock_timestamp() - make_interval(days => %s)"
)
_FIND: LiteralString = (
    "SELECT owner, machine, boot, host, who, "
    "extract(epoch FROM until - clock_timestamp())::float8, "
    """to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), dead FROM owners """
)


class PostgresOwnerLeases:
    """The table of owners, over one connection that no other work holds up."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db: Connection | None = None
        self._lock = threading.Lock()

    @property
    def world(self) -> str:
        """The database and its schema."""
        return self._database.name

    def renew(self, owner: LeasedOwner, seconds: float) -> bool:
        """Begin an owner's lease, or extend it; return whether it had not ended. Raises Fenced."""
        if self._database.read_only:
            raise only_read()
        host = {"machine": owner.host.machine, "boot": owner.host.boot, "host": owner.host.name}
        values = {"owner": owner.id, "seconds": seconds, "who": owner.who, **host}

        def write(db: Connection) -> bool:
            row = db.execute(_EXTEND, values).fetchone()
            if row is not None:
                return bool(row[0])
            if db.execute(_BEGIN, values).rowcount == 0:
                raise Fenced(
                    f"Another process on {owner.host.name} has declared this one dead: it may "
                    "not execute runs any more.",
                    hint="Start another process.",
                )
            db.execute(_SWEEP, (KEPT_DAYS,))
            return False

        return self._do(write)

    def find(self, owner: str) -> OwnerLease | None:
        """Return an owner's lease, or None."""
        query: LiteralString = _FIND + "WHERE owner = %s"
        row = self._do(lambda db: db.execute(query, (owner,)).fetchone())
        return None if row is None else _lease(row)

    def on(self, machine: str) -> list[OwnerLease]:
        """Return the leases on a machine, also expired ones, of owners not known to be dead."""
        query: LiteralString = _FIND + "WHERE machine = %s AND NOT dead ORDER BY until"
        return [
            _lease(row) for row in self._do(lambda db: db.execute(query, (machine,)).fetchall())
        ]

    def end(self, owner: str, *, dead: bool) -> None:
        """Write down that an owner is dead, or remove it."""
        query: LiteralString = "DELETE FROM owners WHERE owner = %s"
        if dead:
            query = "UPDATE owners SET dead = true WHERE owner = %s"
        self._do(lambda db: db.execute(query, (owner,)))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _do(self, query: Callable[[Connection], T]) -> T:
        """Do it; once more over another connection, when this one was lost."""
        with self._lock:
            try:
                if self._db is not None and not self._db.closed:
                    try:
                        return query(self._db)
                    except FAULTS as error:
                        if not (is_lost(error) and self._db.broken):
                            raise
                db = self._database.connect(TIMEOUT_SECONDS)
                self._db = db if self._database.read_only else checked(db)
                return query(self._db)
            except FAULTS as error:
                raise _explained(designed(error)) from error


def _explained(error: Any) -> Any:
    if type(error) is OperatorError:
        hint = "Without a lease no effect starts. Check the server, then resume."
        return OperatorError(f"The lease of this process: {error.message}", hint=hint)
    return error


def _lease(row: Any) -> OwnerLease:
    owner, machine, boot, name, who, left, until, dead = row
    return OwnerLease(LeasedOwner(owner, OwnerHost(machine, boot, name), who), left, until, dead)
