"""The order of jobs: by priority, tenants in turn, within the limits of lanes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from artificer.studio.jobs.rows import COLUMNS, JobRow

MAX_TENANTS = 1_000
"""Tenants that are remembered though none of their jobs waits."""

_DUE = "(state = 'queued' AND due <= :now OR state = 'parked' AND due > 0 AND due <= :now)"

_NEXT = f"""
SELECT {COLUMNS} FROM jobs WHERE {_DUE}
AND (ends OR lane NOT IN (SELECT value FROM json_each(:closed)))
ORDER BY priority, (SELECT turn FROM tenants WHERE tenants.tenant = jobs.tenant), submitted LIMIT 1
"""

_SERVED = """
INSERT OR REPLACE INTO tenants VALUES (?, (SELECT coalesce(max(turn), 0) + 1 FROM tenants))
"""

_FORGET = """
DELETE FROM tenants WHERE (SELECT count(*) FROM tenants) > ?
AND tenant NOT IN (SELECT tenant FROM jobs WHERE state <> 'done')
"""


def next_job(db: sqlite3.Connection, now: int, closed: Collection[str] = ()) -> JobRow | None:
    """Return the job whose turn it is; none of a ``closed`` lane, unless its run is to end.

    Of one priority, the tenant comes first that was served longest ago.
    """
    values = {"now": now, "closed": json.dumps(sorted(closed))}
    found = db.execute(_NEXT, values).fetchone()
    return JobRow(*found) if found else None


def served(db: sqlite3.Connection, tenant: str) -> None:
    """Write down that a tenant is served now."""
    db.execute(_SERVED, (tenant,))


def forget_tenants(db: sqlite3.Connection) -> None:
    """Forget tenants without jobs, where there are many."""
    db.execute(_FORGET, (MAX_TENANTS,))
