"""Grants to leases: the epochs at which they may append to runs, and the blobs they have put."""

from __future__ import annotations

from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.rows import JobRow

RELEASED = 0
"""The epoch of a run that its worker has released."""


class LeaseGrants:
    """The grants of the workers of jobs."""

    def __init__(self, file: JobFile) -> None:
        self._file = file

    def grant(self, row: JobRow, run: str, epoch: int) -> None:
        """Write down that a lease may append to a run at an epoch."""
        with self._file.changing() as db:
            db.execute(
                "INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?)",
                (run, row.run, row.attempt, epoch),
            )

    def epoch(self, row: JobRow, run: str) -> int | None:
        """Return the epoch at which a lease may append to a run."""
        with self._file.changing() as db:
            found = db.execute(
                "SELECT epoch FROM grants WHERE run = ? AND job = ? AND attempt = ?",
                (run, row.run, row.attempt),
            ).fetchone()
        return found[0] if found else None

    def grants(self, job: str) -> list[tuple[str, int, int]]:
        """Return the runs that a job has written, each with its last attempt and epoch."""
        with self._file.changing() as db:
            query = "SELECT run, attempt, epoch FROM grants WHERE job = ? ORDER BY run"
            return list(db.execute(query, (job,)))

    def keep_blob(self, job: str, digest: str, *, is_own: bool) -> None:
        """Remember that a job has put a blob, or named one that is not its own."""
        with self._file.changing() as db:
            change = "SET is_own = max(is_own, excluded.is_own)"
            db.execute(
                f"INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO UPDATE {change}",
                (job, digest, is_own),
            )

    def kept_blobs(self, job: str) -> dict[str, bool]:
        """Return the blobs that a job has put, and those it may not have (False)."""
        with self._file.changing() as db:
            rows = db.execute("SELECT digest, is_own FROM blobs WHERE job = ?", (job,))
            return {digest: bool(is_own) for digest, is_own in rows}
