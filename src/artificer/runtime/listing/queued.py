"""Runs that were submitted: whether workers execute them, and whether one has started."""

from __future__ import annotations

from artificer.core.spec import RunSpec
from artificer.ports import Journal, Signalled
from artificer.ports.run_index import BEGINNING


def is_queued(spec: RunSpec, status: str, records: int) -> bool:
    """Whether no worker has started a run that was submitted."""
    return spec.submission is not None and status == "open" and records <= BEGINNING


async def waits_for_worker(
    journal: Journal, run: str, spec: RunSpec, status: str, records: int
) -> bool:
    """Whether workers execute a run, and none has started it. Raises OperatorError."""
    return is_queued(spec, status, records) and await is_for_workers(journal, run, spec)


async def is_for_workers(journal: Journal, run: str, spec: RunSpec) -> bool:
    """Whether workers execute a run: it was submitted, and in this world.

    A person has to resume what was imported. Raises OperatorError.
    """
    if spec.submission is None:
        return False
    return not (isinstance(journal, Signalled) and await journal.unsigned(run))
