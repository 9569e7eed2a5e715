"""Runs that were submitted and wait for a worker: nothing has followed their beginning."""

from __future__ import annotations

from artificer.core.spec import RunSpec

BEGINNING = 2
"""Records of a beginning: the prompt, and what is to be done first. Whoever resumes adds one."""


def is_queued(spec: RunSpec, status: str, records: int) -> bool:
    """Whether no worker has begun a run that was submitted."""
    return spec.submission is not None and status == "open" and records <= BEGINNING
