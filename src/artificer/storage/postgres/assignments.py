"""Which worker has which run, in a table of PostgreSQL that is not logged: it may be lost."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection

from artificer.ports.assignments import OVER_KEPT_S, RUNS_AT_ONCE, Assigned, AssignmentStanding
from artificer.storage.postgres.connection import Server

_LIVING: LiteralString = (
    "SELECT owner FROM owners WHERE NOT owners.dead AND owners.until > clock_timestamp()"
)
_TAKE: LiteralString = f"""
WITH ours AS (
  INSERT INTO assignments AS a VALUES (%(run)s, %(owner)s, 'executing') ON CONFLICT (run)
  DO UPDATE SET owner = excluded.owner, standing = excluded.standing, at = clock_timestamp()
  WHERE (%(again)s OR a.standing <> 'over') AND (
    a.owner = excluded.owner OR a.standing IN ('left', 'refused')
    OR (%(again)s AND a.standing <> 'executing') OR a.owner NOT IN ({_LIVING})
  )
  RETURNING xmax = 0 AS is_first  -- it was inserted
)
SELECT (SELECT is_first FROM ours), (SELECT standing FROM assignments WHERE run = %(run)s)
"""
_PUT: LiteralString = """
UPDATE assignments SET standing = %(standing)s, at = clock_timestamp(),
  refused = CASE %(standing)s WHEN 'refused' THEN refused || %(owner)s::text ELSE '{}' END
WHERE run = %(run)s AND owner = %(owner)s
"""
_LEAVE: LiteralString = (
    "UPDATE assignments SET standing = 'left' WHERE owner = %s AND standing <> 'over'"
)
_FORGET: LiteralString = (
    "DELETE FROM assignments "
    "WHERE standing = 'over' AND at < clock_timestamp() - make_interval(secs => %s)"
)
_LOST: LiteralString = f"""
UPDATE assignments SET owner = %(owner)s, standing = 'parked', at = clock_timestamp()
WHERE run IN (
  SELECT run FROM assignments WHERE standing <> 'over' AND %(owner)s <> ALL (refused)
    AND (standing IN ('left', 'refused') OR owner NOT IN ({_LIVING}))
  ORDER BY at LIMIT %(most)s FOR UPDATE SKIP LOCKED
) RETURNING run
"""


class PostgresAssignments:
    """The table of assignments. Its time is that of the database."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def take(self, run: str, owner: str, *, again: bool) -> Assigned:
        """Ask for a run. See `Assignments.take`."""
        values = {"run": run, "owner": owner, "again": again}
        row = await self._server.ask(lambda db: db.execute(_TAKE, values).fetchone())
        is_first, before = row or (None, None)
        if is_first is not None:
            return "first" if is_first else "ours"
        return "over" if before == "over" else "elsewhere"

    async def put(self, run: str, owner: str, standing: AssignmentStanding) -> None:
        """Record the standing of a run with its worker."""
        values = {"run": run, "owner": owner, "standing": standing}
        await self._server.ask(lambda db: db.execute(_PUT, values))

    async def leave(self, owner: str) -> None:
        """Leave all of a worker's runs to others."""
        await self._server.ask(lambda db: db.execute(_LEAVE, (owner,)))

    async def lost(self, owner: str) -> list[str]:
        """Assign runs to this worker that no worker has any more, and return them."""
        return await self._server.ask(lambda db: _lost(db, owner))


def _lost(db: Connection, owner: str) -> list[str]:
    db.execute(_FORGET, (OVER_KEPT_S,))
    values = {"owner": owner, "most": RUNS_AT_ONCE}
    return sorted(run for (run,) in db.execute(_LOST, values).fetchall())
