"""The jobs that this process has leased, and the one that a task works on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from artificer.errors import Fenced
from artificer.ports import Head, RunHead


class HeldJob(Struct):
    """A job that this process has leased: its attempt, and its fencing token.

    ``head`` and ``former`` are as the run was when it was leased. ``is_lost`` is set when the lease
    has ended: nothing is sent for it any more.
    """

    run: str
    attempt: int
    fence: int
    head: Head
    former: str = ""
    is_taken: bool = False
    is_lost: bool = False

    def token(self) -> dict[str, int]:
        """Return what proves the lease in a request. Raises Fenced when it is lost."""
        if self.is_lost:
            raise Fenced(f"The lease of run {self.run} has ended.", hint="Stop working on it.")
        return {"attempt": self.attempt, "fence": self.fence}


class HeldJobs:
    """The jobs of this process, for any number of threads."""

    def __init__(self) -> None:
        self._jobs: dict[str, HeldJob] = {}
        self._runs: dict[str, RunHead] = {}
        self._lock = threading.Lock()
        self._current: ContextVar[HeldJob | None] = ContextVar("artificer_job", default=None)

    @contextmanager
    def holding(self, job: HeldJob) -> Iterator[None]:
        """Hold a job while this task, and those that it starts, work on it."""
        with self._lock:
            self._jobs[job.run] = job
        token = self._current.set(job)
        try:
            yield
        finally:
            self._current.reset(token)
            job.is_lost = True
            with self._lock:
                if self._jobs.get(job.run) is job:
                    del self._jobs[job.run]
                for run in [run for run in self._runs if self.is_of(job, run)]:
                    del self._runs[run]

    def of(self, run: str) -> HeldJob:
        """Return the job that a run belongs to: the one at hand, if it does. Raises Fenced.

        A run that another one has called may be a job of this process too. What its caller does to
        it is done under the caller's lease, which gets no more than that of any other worker.
        """
        current = self._current.get()
        if current is not None and self.is_of(current, run):
            return current
        with self._lock:
            found = [job for job in self._jobs.values() if self.is_of(job, run)]
        if not found:
            raise Fenced(
                f"Run {run!r} is not leased by this worker.",
                hint="Read it in the studio.",
            )
        return max(found, key=lambda job: len(job.run))

    def reading(self, run: str) -> HeldJob:
        """Return a job that may read a run: its own, or one below it. Raises Fenced."""
        current = self._current.get()
        if current is not None and current.run.startswith(f"{run}."):
            return current
        return self.of(run)

    def is_of(self, job: HeldJob, run: str) -> bool:
        """Whether a run belongs to a job: it is the job's, or one that this has started."""
        return run == job.run or run.startswith(f"{job.run}.")

    def runs_of(self, job: HeldJob) -> list[str]:
        """Return the runs of a job that were acquired here."""
        with self._lock:
            return [run for run in self._runs if self.is_of(job, run)]

    def candidates(self) -> list[HeldJob]:
        """Return the job that this task works on; all, where it is not known. Raises Fenced."""
        current = self._current.get()
        with self._lock:
            found = [current] if current is not None else list(self._jobs.values())
        if not found:
            raise Fenced("This worker has no lease of a run.")
        return found

    def reached(self, run: str, epoch: int, head: Head) -> None:
        """Note where a run ends that was acquired here."""
        with self._lock:
            self._runs[run] = RunHead(run, epoch, head)

    def runs(self) -> list[RunHead]:
        """Return the runs that were acquired here, oldest first."""
        with self._lock:
            return list(self._runs.values())
