"""A job as the queue keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

MAX_DIGITS = 16
"""Digits of a time in milliseconds."""

JobState = Literal["queued", "leased", "parked", "done", "dead"]
"""Waiting for a worker, leased, waiting for a signal or a time, ended, or failed too often."""


class JobRow(Struct, frozen=True):
    """A run that was submitted for workers, and its status. Times are milliseconds.

    ``attempt`` counts its leases, ``failures`` those that ended badly since it last went well, and
    with ``attempts`` of them it is a dead letter. ``owner`` names the last lease in the journal,
    ``fence`` is the epoch that it began with, ``holder`` who has it, and ``ended`` the digest of
    what ended it. ``tenant`` and ``lane`` are those of the run's submission. ``awaits`` is set for
    a parked job whose run continues when none of the runs that it has called does by itself any
    more, ``ends`` for one whose run is to be cancelled, ``woken`` for one that was woken during its
    lease: its worker may not have seen why.
    """

    run: str
    state: JobState
    priority: int
    submitted: int
    attempts: int
    attempt: int = 0
    failures: int = 0
    due: int = 0
    holder: str = ""
    worker: str = ""
    owner: str = ""
    request: str = ""
    fence: int = 0
    seconds: int = 0
    expires: int = 0
    ended: str = ""
    error: str = ""
    tenant: str = ""
    lane: str = ""
    awaits: int = 0
    ends: int = 0
    woken: int = 0


class JobPlace(Struct, frozen=True):
    """A place in the list of jobs, newest first: after a job, or before a time."""

    submitted: int
    run: str | None = None

    def __str__(self) -> str:
        """The place as a text."""
        return f"{self.submitted}" if self.run is None else f"{self.submitted}:{self.run}"

    @classmethod
    def of(cls, text: str) -> JobPlace | None:
        """Read a place; None if a text is none."""
        submitted, after, run = text.partition(":")
        if not (submitted.isascii() and submitted.isdecimal() and len(submitted) <= MAX_DIGITS):
            return None
        return cls(int(submitted), run if after else None)


def next_page(rows: Sequence[JobRow], limit: int) -> str | None:
    """Return the place where the next page begins, or None if there is none."""
    return str(JobPlace(rows[-1].submitted, rows[-1].run)) if len(rows) == limit else None


COLUMNS = ", ".join(JobRow.__struct_fields__)
