"""The reach of a job's worker: its run and the runs that this one has started."""

from __future__ import annotations

from artificer.contracts.capabilities import OPERATIONS, Operation, prefixes
from artificer.core.spec import RunSpec
from artificer.system.utc import utc_day

DAY_MS = 86_400_000


class FamilyReach:
    """A run, and those whose names begin with it and a point, as the names of child runs do."""

    def has_run(self, job: str, run: str) -> bool:
        """Whether a run belongs to a job."""
        return run == job or run.startswith(f"{job}.")

    def has_account(self, job: str, account: str, now: int) -> bool:
        """Whether a job spends from an account: that of a day, of its family, of those above it."""
        if account in {utc_day(now + shift) for shift in (-DAY_MS, 0, DAY_MS)}:
            return True
        kind, _, run = account.partition(":")
        return kind in ("run", "build") and (self.has_run(job, run) or self.has_run(run, job))

    def has_workspace(self, spec: RunSpec | None, name: str, *, writes: bool = False) -> bool:
        """Whether a job, by its recorded spec, may see a workspace, or change it."""
        operations: tuple[Operation, ...] = ("commit", "remove", "write") if writes else OPERATIONS
        grants = spec.facilities.workspaces if spec is not None else ()
        return any(prefixes(grants, operation, name) for operation in operations)

    def time(self, of_worker: int, now: int) -> int:
        """Return when a reservation is made: now, whatever the clock of the worker shows.

        With its own time a worker could end the reservations of others.
        """
        return now

    def permit_s(self, of_worker: float, lease: int) -> float:
        """Return how long a permit lasts that nobody renews: no less than the lease of its job."""
        return max(of_worker, lease)

    def has_version(self, *, is_own: bool) -> bool:
        """Whether a blob may be a version: one of its own."""
        return is_own


FAMILY = FamilyReach()
