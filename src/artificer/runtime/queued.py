"""Runs that were submitted: whether workers execute them, and whether one has begun."""

from __future__ import annotations

from artificer.core.spec import RunSpec
from artificer.ports import Journal
from artificer.runtime.signals import Signalled

BEGINNING = 2
"""Records of a beginning: the prompt, and what is to be done first. Whoever resumes adds one."""


def is_queued(spec: RunSpec, status: str, records: int) -> bool:
    """Whether no worker has begun a run that was submitted."""
    return spec.submission is not None and status == "open" and records <= BEGINNING


async def is_for_workers(journal: Journal, run: str, spec: RunSpec) -> bool:
    """Whether workers execute a run: it was submitted, and in this world.

    A person has to resume what was imported. Raises OperatorError.
    """
    if spec.submission is None:
        return False
    return not (isinstance(journal, Signalled) and await journal.unsigned(run))
