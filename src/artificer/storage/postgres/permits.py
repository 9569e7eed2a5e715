"""The permits of shared limits in PostgreSQL, in a table that a crash of the server empties.

They end by the clock of the database alone. Taking one holds the locks of its limits for the
transaction, so that nobody else counts at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg import Connection

from artificer.ports import LimitReached, Permit, SharedLimit
from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.locks import Lock

_LOCK: LiteralString = """
SELECT pg_advisory_xact_lock(%(lock)s, key) FROM (
  SELECT DISTINCT hashtext(%(schema)s || ' ' || name) AS key
  FROM unnest(%(names)s::text[]) AS name ORDER BY key
) AS keys
"""
_FORGET: LiteralString = """
DELETE FROM permits WHERE (name, permit) IN (
  SELECT name, permit FROM permits WHERE until <= clock_timestamp() FOR UPDATE SKIP LOCKED
)
"""
_TAKE: LiteralString = """
WITH wanted AS (
  SELECT * FROM unnest(%(names)s::text[], %(counts)s::bigint[], %(seconds)s::float8[],
                       %(held)s::boolean[]) AS each (name, count, seconds, held)
), counted AS (
  SELECT wanted.*, (SELECT count(*) FROM permits WHERE permits.name = wanted.name
                    AND until > clock_timestamp()) - count AS over FROM wanted
), taken AS (
  INSERT INTO permits SELECT name, %(permit)s, clock_timestamp() + make_interval(secs => seconds),
    held FROM counted WHERE NOT EXISTS (SELECT FROM counted WHERE over >= 0)
  ON CONFLICT DO NOTHING
)
SELECT name, CASE WHEN held THEN 0 ELSE coalesce(
  (SELECT extract(epoch FROM until - clock_timestamp()) FROM permits
   WHERE permits.name = counted.name AND until > clock_timestamp()
   ORDER BY until OFFSET over LIMIT 1), 0) END::float8
FROM counted WHERE over >= 0 ORDER BY 2 DESC LIMIT 1
"""
_RENEW: LiteralString = """
INSERT INTO permits
SELECT name, permit, clock_timestamp() + make_interval(secs => %(seconds)s), true
FROM unnest(%(names)s::text[], %(permits)s::text[]) AS each (name, permit) ORDER BY 1, 2
ON CONFLICT (name, permit) DO UPDATE SET until = excluded.until
"""
_GIVE_BACK: LiteralString = """
DELETE FROM permits USING unnest(%(names)s::text[], %(permits)s::text[]) AS each (name, permit)
WHERE permits.name = each.name AND permits.permit = each.permit AND held
"""
_HELD: LiteralString = (
    "SELECT name, count(*) FROM permits WHERE until > clock_timestamp() GROUP BY name ORDER BY name"
)


class PostgresPermits:
    """`Permits` in PostgreSQL. Every method raises OperatorError when it cannot be used."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        """Take a permit under all of these limits, or under none of them."""
        values: dict[str, Any] = {
            "permit": permit,
            "names": [limit.name for limit in limits],
            "counts": [limit.count for limit in limits],
            "seconds": [lease_s if limit.period_s is None else limit.period_s for limit in limits],
            "held": [limit.period_s is None for limit in limits],
            "lock": int(Lock.PERMITS),
            "schema": self._server.database.schema,
        }
        row = await self._server.ask(lambda db: _take(db, values))
        return None if row is None else LimitReached(*row)

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        """Extend permits; one that was lost counts again."""
        values = {**_rows(permits), "seconds": lease_s}
        await self._server.ask(lambda db: db.execute(_RENEW, values))

    async def give_back(self, permits: Sequence[Permit]) -> None:
        """End permits."""
        await self._server.ask(lambda db: db.execute(_GIVE_BACK, _rows(permits)))

    async def held(self) -> Mapping[str, int]:
        """Return how many permits count under each name."""
        return dict(await self._server.ask(lambda db: db.execute(_HELD).fetchall()))


def _take(db: Connection, values: Mapping[str, Any]) -> tuple[str, float] | None:
    with db.pipeline(), db.transaction():  # one exchange with the server
        db.execute(_LOCK, values)
        db.execute(_FORGET)
        cursor = db.execute(_TAKE, values)
    row: tuple[str, float] | None = cursor.fetchone()
    return row


def _rows(permits: Sequence[Permit]) -> dict[str, list[str]]:
    pairs = [(name, permit.id) for permit in permits for name in permit.limits]
    return {"names": [name for name, _ in pairs], "permits": [permit for _, permit in pairs]}
