"""The messages between a queue and its workers: a lease, the answer to a heartbeat, an ending."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from artificer.ports import Head

JobOutcome = Literal["done", "parked", "children"]
"""How a worker leaves a run: over, waiting, or waiting for runs that it has started."""


class LeasedJob(Struct, frozen=True):
    """A job that a worker has leased, and may write to.

    ``fence`` is the epoch of its run from now on, and ``head`` where the run ends. ``former`` names
    owners that may still act: what they had started may be in progress. Times are milliseconds.
    """

    run: str
    attempt: int
    fence: int
    expires: int
    seconds: int
    head: Head
    former: str


class Beat(Struct, frozen=True):
    """The answer to a heartbeat: the end of the lease, the last signal, and whether to cancel."""

    expires: int
    signals: int
    cancel: bool


class JobEnding(Struct, frozen=True):
    """How an attempt ends: the same ending may be sent twice."""

    outcome: JobOutcome = "done"
    seconds: float | None = None
    runs: tuple[str, ...] = ()
    error: str | None = None
