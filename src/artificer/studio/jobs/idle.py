"""Jobs without a worker: what happens to their runs queues them, puts them off or ends them."""

from __future__ import annotations

from collections.abc import Callable

from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.rows import JobRow


class IdleJobs:
    """The jobs that nobody has leased. ``now`` is the time in milliseconds."""

    def __init__(self, file: JobFile, now: Callable[[], int]) -> None:
        self._file, self._now = file, now

    def wake(self, run: str) -> bool:
        """Queue a job that is parked or over again; return whether a worker will execute it.

        One that is leased is marked: its worker may have looked for the last time.
        """
        if self._file.is_new:
            return False
        with self._file.changing() as db:
            db.execute(
                "UPDATE jobs SET state = 'queued', due = 0, awaits = 0 "
                "WHERE run = ? AND state IN ('parked', 'done', 'queued')",
                (run,),
            )
            db.execute("UPDATE jobs SET woken = 1 WHERE run = ? AND state = 'leased'", (run,))
            query = "SELECT 1 FROM jobs WHERE run = ? AND state <> 'dead'"
            return db.execute(query, (run,)).fetchone() is not None

    def hurry(self, run: str) -> None:
        """Look at a parked job now, because something has happened below its run."""
        if not self._file.is_new:
            with self._file.changing() as db:
                query = "UPDATE jobs SET due = 1 WHERE run = ? AND state = 'parked'"
                db.execute(query, (run,))

    def hurry_queued(self, run: str) -> None:
        """Have a queued job leased now that has not failed."""
        if not self._file.is_new:
            with self._file.changing() as db:
                query = "UPDATE jobs SET due = 0 WHERE run = ? AND state = 'queued'"
                db.execute(f"{query} AND failures = 0", (run,))

    def cancel(self, run: str) -> None:
        """Queue a job whose run is to end: a full lane does not hold it up."""
        if self.wake(run):
            with self._file.changing() as db:
                db.execute("UPDATE jobs SET ends = 1 WHERE run = ? AND state <> 'leased'", (run,))

    def finish(self, run: str) -> None:
        """Write down that the run of a job has ended, unless a worker has leased it."""
        if not self._file.is_new:
            with self._file.changing() as db:
                db.execute(
                    "UPDATE jobs SET state = 'done', due = 0, ends = 0, error = '' "
                    "WHERE run = ? AND state <> 'leased'",
                    (run,),
                )

    def put_off(self, row: JobRow, due_ms: int) -> None:
        """Schedule another look at a parked job, unless something has happened to it since."""
        with self._file.changing() as db:
            db.execute(
                "UPDATE jobs SET due = ? WHERE run = ? AND state = 'parked' AND due = ?",
                (self._now() + due_ms, row.run, row.due),
            )
