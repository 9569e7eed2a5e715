"""A job as the queue keeps it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

JobState = Literal["queued", "leased", "parked", "done", "dead"]
"""A job waits for a worker, has one, waits for a signal or a time, is over, or failed too often."""


class JobRow(Struct, frozen=True):
    """A run that was submitted for workers, and how it stands. Times are milliseconds.

    ``attempt`` counts its leases, ``failures`` those that ended badly since it last went well, and
    with ``attempts`` of them it is a dead letter. ``owner`` names the last lease in the journal,
    ``fence`` is the epoch that it began with, ``holder`` who has it, and ``ended`` the digest of
    what ended it.
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


COLUMNS = ", ".join(JobRow.__struct_fields__)
