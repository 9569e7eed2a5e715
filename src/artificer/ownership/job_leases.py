"""The jobs of workers over HTTP, which a studio keeps in its project's folder.

Such a worker has no lock here. It is alive as long as its lease lasts; afterwards nobody knows.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from artificer.errors import OperatorError
from artificer.ownership.local import UNKNOWN, FormerOwner
from artificer.system.read_only import ReadOnlyDatabase
from artificer.system.utc import utc_text

FILE = "jobs.db"

PREFIX = "http-"
"""Where the names of leases begin, as the journal has them."""

_DEAD = (
    "SELECT run, failures, error FROM jobs "
    "WHERE state = 'dead' AND run IN (SELECT value FROM json_each(?))"
)
_QUERY = "SELECT worker, expires FROM jobs WHERE owner = ? AND state = 'leased'"


def find_lease(project: Path, owner: str) -> FormerOwner:
    """Return the state of an owner that is a lease of a worker over HTTP."""
    path = project / FILE
    if not path.exists():
        return UNKNOWN
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", timeout=5, uri=True)) as db:
            found = db.execute(_QUERY, (owner,)).fetchone()
    except sqlite3.Error as error:
        return FormerOwner("alive", f"a worker that cannot be checked ({FILE}: {error})")
    if found is None or found[1] <= time.time() * 1000:
        return UNKNOWN
    return FormerOwner(
        "alive", who_leases(found[0]), f": its lease ends at {utc_text(found[1])} UTC"
    )


class FailedJob(Struct, frozen=True):
    """A job that failed so often in a row that workers leave it alone, and its last error."""

    failures: int
    error: str


def failed_jobs(project: Path, runs: Sequence[str]) -> dict[str, FailedJob]:
    """Return which of these runs are dead letters; none where this user cannot read that."""
    path = project / FILE
    if not runs or not path.exists():
        return {}
    database, names = ReadOnlyDatabase(path), json.dumps(runs)
    try:
        rows = database.ask(lambda db: db.execute(_DEAD, (names,)).fetchall())
    except (OperatorError, sqlite3.Error):
        return {}
    finally:
        database.close()
    return {run: FailedJob(failures, error) for run, failures, error in rows}


def who_leases(worker: str) -> str:
    """Return the name of a worker over HTTP, for messages."""
    return f"the worker {worker}"
