"""The leases of workers that only have HTTP: a studio keeps them in the folder of its project.

Such a worker has no lock here. It is alive as long as its lease lasts; afterwards nobody knows.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from artificer.ownership.local import UNKNOWN, FormerOwner

FILE = "jobs.db"

PREFIX = "http-"
"""Where the names of leases begin, as the journal has them."""

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
    return FormerOwner("alive", who_leases(found[0]), f": its lease ends at {_text(found[1])}")


def who_leases(worker: str) -> str:
    """Return the name of a worker over HTTP, for messages."""
    return f"the worker {worker}"


def _text(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
