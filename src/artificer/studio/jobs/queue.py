"""The queue of jobs: who has leased which run, kept in a file of the world's folder.

The file says who executes a run and when, never how the run stands: the journal says that, and its
epochs fence every record. What is lost here costs time.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from collections.abc import Callable, Collection, Sequence

from artificer.core.submission import USUAL
from artificer.errors import Fenced, NotFoundError, OperatorError
from artificer.ownership.job_leases import PREFIX
from artificer.ports import DispatchedRun
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.rows import COLUMNS, JobPlace, JobRow
from artificer.studio.jobs.turns import forget_tenants, next_job, served

log = logging.getLogger("artificer.studio")

MAX_JOBS = 100_000
"""Limit on the jobs that are not over."""

KEPT = 10_000
"""Jobs that have ended, and remembered."""

BACKOFF_MS, MAX_BACKOFF_MS = 5_000, 300_000
"""How long a job waits after its first failure, and at most: four times as long each time."""

LAPSED = "The lease ended without an answer from the worker."


class JobQueue:
    """The jobs of a world. ``now`` is the time in milliseconds."""

    def __init__(self, file: JobFile, now: Callable[[], int]) -> None:
        self._file, self._now = file, now

    def submit(
        self, run: str, priority: int = USUAL, attempts: int = 5, tenant: str = "", lane: str = ""
    ) -> JobRow:
        """Queue a run. One that waits or is leased stays as it is. Raises OperatorError."""
        with self._file.changing() as db:
            found = self._find(db, run)
            if found is not None and found.state in ("queued", "leased"):
                return found
            (count,) = db.execute("SELECT count(*) FROM jobs WHERE state <> 'done'").fetchone()
            if found is None and count >= MAX_JOBS:
                raise OperatorError(f"{MAX_JOBS} jobs wait already.", hint="Start more workers.")
            now, attempt = self._now(), found.attempt if found else 0
            row = JobRow(run, "queued", priority, now, attempts, attempt, tenant=tenant, lane=lane)
            self._put(db, row)
            return row

    def add(self, wanted: DispatchedRun, attempts: int = 5) -> bool:
        """Queue a run that is not a job yet; return whether it was none. Raises OperatorError."""
        with self._file.changing() as db:
            if self._find(db, wanted.run) is not None:
                return False
        self.submit(wanted.run, wanted.priority, attempts, wanted.tenant, wanted.lane)
        return True

    def next(self, closed: Collection[str] = ()) -> JobRow | None:
        """Return the job whose turn it is, if there is one; none of a ``closed`` lane."""
        if self._file.is_new:
            return None
        with self._file.changing() as db:
            now = self._now()
            self._lapse(db, now)
            return next_job(db, now, closed)

    def leased_for(self, holder: str, request: str) -> JobRow | None:
        """Return the job that was leased for a request, if that is sent again."""
        if self._file.is_new:
            return None
        with self._file.changing() as db:
            self._lapse(db, self._now())
            return _leased_for(db, holder, request)

    def lease(
        self,
        holder: str,
        worker: str,
        request: str,
        seconds: int,
        wanted: JobRow | None = None,
        owner: str = "",
    ) -> JobRow | None:
        """Lease a given job, or the next one; the same one for a request sent twice.

        None if there is none, or something has happened to the one that is wanted.
        """
        if self._file.is_new:
            return None
        with self._file.changing() as db:
            now = self._now()
            self._lapse(db, now)
            if (again := _leased_for(db, holder, request)) is not None:
                return again
            found = wanted or next_job(db, now)
            if found is None or self._find(db, found.run) != found:
                return None
            db.execute(
                "UPDATE jobs SET state = 'leased', attempt = ?, holder = ?, worker = ?, owner = ?,"
                " request = ?, fence = 0, seconds = ?, expires = ?, ended = '', awaits = 0,"
                " woken = 0"
                " WHERE run = ?",
                (
                    *(found.attempt + 1, holder, worker, owner or new_owner(), request, seconds),
                    *(now + seconds * 1000, found.run),
                ),
            )
            served(db, found.tenant)
            return self._find(db, found.run)

    def begin(self, row: JobRow, epoch: int) -> None:
        """Write down the epoch with which a lease begins. Raises Fenced if it has ended."""
        with self._file.changing() as db:
            changed = db.execute(
                "UPDATE jobs SET fence = ? WHERE run = ? AND state = 'leased' AND attempt = ?",
                (epoch, row.run, row.attempt),
            )
            if not changed.rowcount:
                raise lost(row, row.attempt)

    def held(self, run: str, attempt: int, fence: int) -> JobRow:
        """Return a job, if this is its lease. Raises NotFoundError, Fenced."""
        row = self.get(run)
        if row.state != "leased" or (row.attempt, row.fence) != (attempt, fence):
            raise lost(row, attempt)
        return row

    def renew(self, row: JobRow) -> int:
        """Renew a lease, and return its new end. Raises Fenced."""
        with self._file.changing() as db:
            expires = self._now() + row.seconds * 1000
            changed = db.execute(
                "UPDATE jobs SET expires = ? WHERE run = ? AND state = 'leased' AND attempt = ?",
                (expires, row.run, row.attempt),
            )
            if not changed.rowcount:
                raise lost(row, row.attempt)
            return expires

    def end(
        self,
        row: JobRow,
        state: str,
        ended: str,
        *,
        due_ms: int = 0,
        failed: str | None = None,
        awaits: bool = False,
    ) -> JobRow:
        """End a lease: the job is ``state`` from now on. Raises Fenced.

        ``failed`` counts as a failure, and says why; with too many the job is a dead letter.
        """
        with self._file.changing() as db:
            failures = 0 if failed is None and state != "queued" else row.failures
            if failed is not None:
                failures += 1
                due_ms = min(MAX_BACKOFF_MS, BACKOFF_MS * 4 ** min(failures - 1, 8))
                if failures >= row.attempts:
                    state, due_ms = "dead", 0
            changed = db.execute(
                "UPDATE jobs SET state = ?, due = ?, failures = ?, ended = ?, error = ?, "
                "awaits = ?, ends = iif(? = 'queued', ends, 0), expires = 0 "
                "WHERE run = ? AND state = 'leased' AND attempt = ?",
                (
                    *(state, self._now() + due_ms if due_ms else 0, failures, ended),
                    *(failed or "", awaits and state == "parked", state, row.run, row.attempt),
                ),
            )
            if not changed.rowcount:
                raise lost(row, row.attempt)
            if state == "dead":
                _is_dead(row.run)
            if state == "done":
                db.execute("DELETE FROM blobs WHERE job = ? AND is_own", (row.run,))
                self._tidy(db)
            return self._find(db, row.run) or row

    def is_alive(self, owner: str) -> bool:
        """Whether an owner, as the journal names it, is a lease that has not ended."""
        if self._file.is_new:
            return False
        with self._file.changing() as db:
            query = "SELECT 1 FROM jobs WHERE owner = ? AND state = 'leased' AND expires > ?"
            return db.execute(query, (owner, self._now())).fetchone() is not None

    def leased_by(self, holder: str) -> list[JobRow]:
        """Return the jobs that someone has leased, whose leases have not ended."""
        values = holder, self._now()
        return self._select("state = 'leased' AND holder = ? AND expires > ?", values)

    def page(self, state: str | None, before: JobPlace | None, limit: int) -> list[JobRow]:
        """Return the jobs of a state, or all, newest first, from a place on."""
        if self._file.is_new:
            return []
        with self._file.changing() as db:
            self._lapse(db, self._now())
        condition = "(? IS NULL OR state = ?)"
        values: list[object] = [state, state]
        if before is not None:  # of those of the same moment, the ones that follow
            condition += " AND (submitted < ? OR submitted = ? AND run > ?)"
            values += [before.submitted, before.submitted, before.run]
        return self._select(f"{condition} ORDER BY submitted DESC, run LIMIT {limit:d}", values)

    def counts(self) -> dict[str, int]:
        """Return how many jobs there are of each state that any has."""
        if self._file.is_new:
            return {}
        with self._file.changing() as db:
            self._lapse(db, self._now())
            return dict(db.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())

    def get(self, run: str) -> JobRow:
        """Return a job. Raises NotFoundError."""
        if not self._file.is_new:
            with self._file.changing() as db:
                self._lapse(db, self._now())
                if (row := self._find(db, run)) is not None:
                    return row
        raise unknown(run)

    def _lapse(self, db: sqlite3.Connection, now: int) -> None:
        """Queue what was leased to a worker that is silent for too long."""
        lapsed = db.execute(
            "UPDATE jobs SET state = iif(failures + 1 >= attempts, 'dead', 'queued'), due = 0, "
            "failures = failures + 1, error = ? WHERE state = 'leased' AND expires <= ? "
            "RETURNING run, state",
            (LAPSED, now),
        )
        for run, state in lapsed.fetchall():
            if state == "dead":
                _is_dead(run)

    def _tidy(self, db: sqlite3.Connection) -> None:
        query = "FROM jobs WHERE state = 'done' ORDER BY submitted DESC LIMIT -1 OFFSET ?"
        for (run,) in db.execute(f"SELECT run {query}", (KEPT,)).fetchall():
            for table, column in (("jobs", "run"), ("grants", "job"), ("blobs", "job")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (run,))
        forget_tenants(db)

    def _find(self, db: sqlite3.Connection, run: str) -> JobRow | None:
        query = f"SELECT {COLUMNS} FROM jobs WHERE run = ?"
        found = db.execute(query, (run,)).fetchone()
        return JobRow(*found) if found else None

    def _put(self, db: sqlite3.Connection, row: JobRow) -> None:
        values = [getattr(row, name) for name in JobRow.__struct_fields__]
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT OR REPLACE INTO jobs ({COLUMNS}) VALUES ({marks})", values)

    def _select(self, condition: str, values: Sequence[object]) -> list[JobRow]:
        if self._file.is_new:
            return []
        with self._file.changing() as db:
            query = f"SELECT {COLUMNS} FROM jobs WHERE {condition}"
            return [JobRow(*row) for row in db.execute(query, values)]


def _is_dead(run: str) -> None:
    log.warning("a job is a dead letter: it has failed too often", extra={"run": run})


def _leased_for(db: sqlite3.Connection, holder: str, request: str) -> JobRow | None:
    query = f"SELECT {COLUMNS} FROM jobs WHERE state = 'leased' AND request = ? AND holder = ?"
    found = db.execute(query, (request, holder)).fetchone()
    return JobRow(*found) if found and request else None


def new_owner() -> str:
    """Return a name for a lease, as the journal will have it."""
    return PREFIX + secrets.token_hex(8)


def unknown(run: str) -> NotFoundError:
    """Return the error for a run that was not submitted."""
    return NotFoundError(f"Run {run!r} is not a job.", hint="Submit it: POST /api/v1/jobs")


def lost(row: JobRow, attempt: int) -> Fenced:
    """Return the error for a lease that is not, or no longer, that of a job."""
    return Fenced(
        f"Attempt {attempt} at run {row.run} has ended: the job is {row.state}, "
        f"and its last attempt is {row.attempt}.",
        hint="Stop working on it, and record nothing.",
    )
